"""An index in a PostgreSQL database: `postgresql://user@host/database/name`.

postgres_location.py     a location, taken apart
postgres_connections.py  connections, lent to readers and the writer
postgres_errors.py       what the server says, in words that tell what to do
postgres_schema.py       the tables of an index, and how older ones are brought up to date
page_record.py           a page as the tables have it, and its checksum
document_choice.py       the documents and pages that a filter allows, in SQL
page_stream.py           pages streamed from the server and scored, in bounded memory
full_text.py             pages by their words
postgres_reader.py       one moment of an index
postgres_writer.py       changes to it
postgres_health.py       what it holds, and whether its bytes are the ones written
postgres_store.py        all of this as a store
"""

from docpruner.errors import MissingExtraError

try:
    import psycopg as psycopg
except ImportError as error:
    raise MissingExtraError("an index in PostgreSQL", "postgres") from error
