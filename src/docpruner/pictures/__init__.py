"""Pages as pictures that show what was kept of them, and why they matched."""

from docpruner.pictures.kept_patches import kept_picture
from docpruner.pictures.match import match_picture
from docpruner.pictures.thumbnails import contact_sheet

__all__ = ["contact_sheet", "kept_picture", "match_picture"]
