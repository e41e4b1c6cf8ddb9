"""Answers that are errors: a status, a code for programs, a sentence for people, and the id of the request."""

__all__ = ["Fault", "fault_response"]

from starlette.responses import Response

from mercer.serving.http.replies import json_bytes


class Fault(Exception):
    """A request that is refused.

    Parameters
    ----------
    status : of HTTP
    code : one word or two, for programs
    message : a sentence: what was needed, what came; of the body nothing is repeated but names of columns, escaped
    headers : further ones
    """

    def __init__(self, status, code, message, headers=None):
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}


def fault_response(fault, request_id):
    """``{"error": {"code", "message", "request_id"}}``"""
    error = {"code": fault.code, "message": fault.message, "request_id": request_id}
    return Response(json_bytes({"error": error}), fault.status, dict(fault.headers), "application/json")
