"""`postgresql://[user[:password]@]host[:port]/database/name[?option=value&…]`, taken apart.

Up to the database it is an address as libpq has it, with all that libpq takes from elsewhere: the
environment (PGHOST, PGPASSWORD …), the password file, a service file. What follows is the name of
the index, which is that of its schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from docpruner.errors import IndexStateError

FORM = "postgresql://user@host:5432/database/name, where name is the index's"
SECRET = ("password", "sslpassword")
LONGEST = 63  # bytes of a name in PostgreSQL
RESERVED = ("public", "information_schema")

DEFAULTS = {
    "connect_timeout": "10",
    "fallback_application_name": "docpruner",
    "client_encoding": "UTF8",
    # so that a server that has vanished is noticed in a minute, and not in two hours
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}


@dataclass(frozen=True)
class Address:
    location: str  # as it was given, without the password
    schema: str  # the name of the index
    parameters: Mapping[str, str] = field(repr=False)  # to connect with; may hold a password

    @property
    def server(self) -> str:
        """For messages."""
        host = self.parameters.get("host") or self.parameters.get("hostaddr") or "the local socket"
        port = self.parameters.get("port")
        return f"{host}:{port}" if port else host

    @property
    def database(self) -> str:
        return self.parameters.get("dbname", "")


def read_location(text: str) -> Address:
    """IndexStateError, which doesn't show a password, for what is none."""
    scheme, _, rest = text.partition("://")
    rest, _, options = rest.partition("?")
    authority, _, path = rest.partition("/")
    database, _, quoted = path.partition("/")
    name = unquote(quoted)
    if not (database and name) or "/" in quoted:
        raise IndexStateError(f"{_masked(text)} names no index; write {FORM}")
    if len(name.encode(errors="replace")) > LONGEST or name in RESERVED or name.startswith("pg_"):
        raise IndexStateError(
            f"an index in PostgreSQL can't be called {name!r}: a name has up to {LONGEST} bytes, "
            f"does not begin with pg_, and is not one of {', '.join(RESERVED)}"
        )
    query = f"?{options}" if options else ""
    try:
        given = conninfo_to_dict(f"postgresql://{authority}/{database}{query}")
    except psycopg.Error as error:
        # Of these messages only this one can't repeat a part of the password
        reason = f" ({error})" if "invalid URI query parameter" in str(error) else ""
        raise IndexStateError(
            f"{_masked(text)} is no address that PostgreSQL understands{reason}; write {FORM}, "
            "and other signs than letters and digits in percent encoding"
        ) from None
    user, at, hosts = authority.rpartition("@")
    public = "&".join(o for o in options.split("&") if o.partition("=")[0] not in SECRET)
    location = (
        f"{scheme}://{user.partition(':')[0]}{at}{hosts}/{database}/{quoted}"
        f"{f'?{public}' if public else ''}"
    )
    parameters = {key: str(value) for key, value in given.items() if value is not None}
    return Address(location, name, DEFAULTS | parameters)


def _masked(text: str) -> str:
    """Without what may be a password, however odd the rest is."""
    shown = re.sub(r"(://[^:@/?]*):.*@", r"\1@", text)
    return re.sub(r"((?:^|[?&])(?:ssl)?password=)[^&]*", r"\1…", shown)
