"""Where model files are: a name or a folder resolves to checked files; `store.pull` fetches them."""

from as2d.models.store.family import FAMILIES, Family, family_of
from as2d.models.store.files import Files, HubFiles, ModelFiles, verify
from as2d.models.store.json_file import read_json
from as2d.models.store.lookup import pulled, resolve
from as2d.models.store.official import OFFICIAL, OfficialModel
from as2d.models.store.packaged import KNOWN, ModelSource, PackageFile, installed

__all__ = [
    "FAMILIES",
    "KNOWN",
    "OFFICIAL",
    "Family",
    "Files",
    "HubFiles",
    "ModelFiles",
    "ModelSource",
    "OfficialModel",
    "PackageFile",
    "family_of",
    "installed",
    "pulled",
    "read_json",
    "resolve",
    "verify",
]
