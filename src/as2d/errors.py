"""Every exception that as2d raises on purpose; each message names the remedy.

* As2dError
  * InputError (ValueError): the caller's input or option
    * AudioError: audio that cannot be opened or decoded
    * UnsupportedError: an option that this model does not have
    * NoMemoryError (MemoryError): a model that does not fit into free memory
  * ModelError
    * ModelNotFoundError (LookupError): no such name, folder or installed package
      * MissingExtraError (ImportError): an optional dependency that is not installed
    * ModelDamagedError (ValueError): a file that is cut short or has the wrong digest
  * CacheError (OSError): the cache folder cannot be used
  * SaveError (OSError): a recording could not be written to disk
  * CancelledError: the request was cancelled
  * DeadlineError (TimeoutError): the request was not answered in time
  * ClosedError (RuntimeError): used after close()
"""


class As2dError(Exception):
    """Base of all errors raised by as2d."""


class InputError(As2dError, ValueError):
    """The caller's input or option is not valid."""


class AudioError(InputError):
    """The audio cannot be opened, decoded or understood."""


class UnsupportedError(InputError):
    """The model does not have the language, task or option asked for."""


class NoMemoryError(InputError, MemoryError):
    """The model does not fit into free memory."""


class ModelError(As2dError):
    """A model cannot be used."""


class ModelNotFoundError(ModelError, LookupError):
    """No folder or installed package holds the model."""


class MissingExtraError(ModelNotFoundError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class ModelDamagedError(ModelError, ValueError):
    """A model file is cut short, malformed or has the wrong digest."""


class CacheError(As2dError, OSError):
    """The cache folder cannot be written or read."""


class SaveError(As2dError, OSError):
    """A recording could not be written to disk."""


class CancelledError(As2dError):
    """The request was cancelled before it was answered."""


class DeadlineError(As2dError, TimeoutError):
    """The request was not answered by its deadline."""


class ClosedError(As2dError, RuntimeError):
    """A session or request was used after it was closed."""
