"""Moved down, to where review reaches it too; this name goes when its users have moved."""

from governance.fingerprint.changes import (
    WHOLE,
    Showing,
    config_changes,
    content_changes,
    json_differences,
    services_changes,
)

__all__ = ["WHOLE", "Showing", "config_changes", "content_changes", "json_differences", "services_changes"]
