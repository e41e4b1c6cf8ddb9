"""Inference over a wire: messages of bits, the service, its client and its page.

Names load on first use: the wire format and the client need no web framework, and ``mercer --help`` none of these.
"""

from importlib import import_module

from mercer._base.errors import require_extra

_NAMES = {
    "Client": "mercer.serving.client",
    "Message": "mercer.serving.wire.messages",
    "RateAccuracy": "mercer.serving.wire.rates",
    "RatePoint": "mercer.serving.wire.rates",
    "ServiceError": "mercer.serving.client",
    "ServiceSettings": "mercer.serving.process.settings",
    "WireClassifier": "mercer.serving.wire.ladder",
    "WireError": "mercer.serving.wire.messages",
    "create_app": "mercer.serving.http.app",
    "is_message": "mercer.serving.wire.messages",
    "pack_message": "mercer.serving.wire.messages",
    "rate_accuracy": "mercer.serving.wire.rates",
    "read_token": "mercer.serving.process.settings",
    "serve": "mercer.serving.process.server",
    "unpack_message": "mercer.serving.wire.messages",
}

_OF_EXTRA, _EXTRA = ("create_app", "serve"), ("fastapi", "uvicorn", "httptools", "prometheus_client")

__all__ = [*_NAMES]


def __getattr__(name):
    module = _NAMES.get(name)
    if module is None:
        raise AttributeError(f"module 'mercer.serving' has no attribute {name!r}")
    for needed in _EXTRA if name in _OF_EXTRA else ():
        require_extra(needed, extra="serve", purpose=f"mercer.serving.{name}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
