"""The application of one of several processes.

A process that begins is asked at once whether it lives, and unpickles this module before it can answer: so nothing
heavy is imported above the function.
"""

__all__ = ["worker_app"]

import logging
import os
import signal

from mercer._base.errors import MercerError


def worker_app(**options):
    """The application by the options of ``mercer.serving.process.server``; a reload here makes the others reload too.

    The model is loaded before this process takes its share of the requests. Should the file have been broken since the
    service began, this process ends, the supervisor tries again, and the others go on with what they have.
    """
    from mercer.serving.process.server import application

    app = application(**options, reloaded=_tell_parent)
    try:
        app.state.shelf.load()
    except (MercerError, OSError) as error:
        fields = {"event": "load", "error": " ".join(str(error).split())}
        logging.getLogger("mercer.serving").error("load", extra={"fields": fields})
        raise SystemExit(1) from error
    return app


def _tell_parent():
    os.kill(os.getppid(), signal.SIGHUP)
