"""Logs of the service: one JSON object per line, with the id of the request and nothing of its body."""

__all__ = ["REQUESTS", "JsonLines", "configure", "request_id"]

import json
import logging
import os
import re
import sys
import time
import uuid

REQUESTS = logging.getLogger("mercer.serving.requests")
_SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LOGGERS = ("mercer.serving", "uvicorn.error")


def request_id(given):
    """The id that the client gave, if it is short and plain, otherwise a new one."""
    return given if given is not None and _SANE.fullmatch(given) else uuid.uuid4().hex


class JsonLines(logging.Formatter):
    """Records as JSON: time, level, logger and process, then the fields of the record or its text."""

    def format(self, record):
        milliseconds = int(record.msecs)
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{moment}.{milliseconds:03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": os.getpid(),
        }
        fields = getattr(record, "fields", None)
        line |= {"message": record.getMessage()} if fields is None else fields
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure(level="warning", requests=True, stream=None):
    """Send what the service and the web server say to a stream, the standard error unless another is given.

    Parameters
    ----------
    level : of everything but requests
    requests : whether each request is logged; those that failed by our fault always are
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    REQUESTS.setLevel("INFO" if requests else "ERROR")
