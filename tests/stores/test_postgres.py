"""The PostgreSQL store beyond the contract: what it is reached by, its rights, its damages."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from docpruner.codecs import CODEC_NAMES
from docpruner.errors import (
    DamagedIndexError,
    IndexBusyError,
    IndexStateError,
    IndexWriteError,
)
from docpruner.stores.contract import Compactable, Verifiable
from docpruner.stores.locations import create_store, open_store, store_exists
from docpruner.stores.page_text import PageText
from docpruner.stores.postgres import page_stream, postgres_schema
from docpruner.stores.postgres.document_choice import chosen_pages
from docpruner.stores.postgres.postgres_health import EMPTY
from docpruner.stores.postgres.postgres_location import read_location
from docpruner.types import Filter, Word
from postgres_server import DATABASE, OWNER, PASSWORD
from stores.made import (
    X,
    Y,
    Z,
    commit,
    create_folder,
    document,
    documents_of,
    found,
    made_page,
    page_of,
    settings_of,
    stats_of,
    unit_vectors,
)

QUOTED = "pa%3Ass%2Fword%401"  # the password, as an address has it


@pytest.fixture
def location(postgres) -> str:
    return postgres.new_location()


@pytest.fixture
def store(location):
    with create_store(location, settings_of()) as made:
        yield made


def schema_of(location: str) -> str:
    return read_location(location).schema


def with_text(number: int, text: str, vectors=(X,)):
    """A page with words, all at one place."""
    words = [Word(word, (0.1, 0.1, 0.2, 0.2)) for word in text.split()]
    return replace(made_page(number, list(vectors)), text=PageText.of(words))


# ---------------------------------------------------------------------- locations and passwords


@pytest.mark.parametrize(
    ("location", "shown", "schema"),
    [
        ("postgresql://me@db:5433/library/reports", None, "reports"),
        ("postgres://db/library/reports", None, "reports"),
        ("postgresql:///library/two%20words", None, "two words"),
        ("postgresql://a,b:1/library/x?target_session_attrs=any", None, "x"),
        ("postgresql://me:secret@db/library/x", "postgresql://me@db/library/x", "x"),
        ("postgresql://me:s%40e@[::1]:5/l/x", "postgresql://me@[::1]:5/l/x", "x"),
        (
            "postgresql://db/l/x?password=secret&sslmode=disable",
            "postgresql://db/l/x?sslmode=disable",
            "x",
        ),
    ],
)
def test_a_location_is_shown_without_its_password(location, shown, schema):
    address = read_location(location)
    assert address.location == (shown or location)
    assert address.schema == schema
    assert "secret" not in repr(address)


@pytest.mark.parametrize(
    "location",
    [
        "postgresql://me:secret@db",
        "postgresql://me:secret@db/library",
        "postgresql://me:secret@db/library/",
        "postgresql://me:secret@db/library/one/two",
        "postgresql://me:sec/secret@db/library/x",
        "postgresql://me:%zzsecret@db/library/x",
        "postgresql://db/library/x?password=secret&nonsense=1",
        "postgresql://me:secret@db/library/pg_x",
        "postgresql://me:secret@db/library/public",
        f"postgresql://me:secret@db/library/{'x' * 64}",
    ],
)
def test_what_is_no_location_says_how_one_is_written_and_shows_no_password(location):
    with pytest.raises(IndexStateError, match=r"write postgresql://user@host|can't be called") as e:
        open_store(location)
    assert "secret" not in str(e.value)


def test_an_address_with_a_password_opens_and_nothing_shows_it(postgres, monkeypatch):
    typed = postgres.address("with-password", login=f"{OWNER}:{QUOTED}")
    with create_store(typed, settings_of()) as store:
        commit(store, document("a.pdf", [[X]]))
        assert store.location == postgres.address("with-password", login=OWNER)
        known = store.location
    with pytest.raises(IndexStateError, match=r"set PGPASSWORD, or write .* ~/\.pgpass"):
        open_store(known)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with open_store(known) as again:
        assert found(again) == [("a.pdf#1", 1.0)]


@pytest.mark.parametrize(
    ("login", "database", "says"),
    [
        (f"{OWNER}:wrong-one", DATABASE, "password authentication failed.*PGPASSWORD"),
        (f"{OWNER}:{QUOTED}", "nowhere", '"nowhere" does not exist.*createdb'),
    ],
)
def test_who_is_not_let_in_hears_why_and_what_to_do(postgres, login, database, says):
    location = postgres.address("x", login=login, database=database)
    for act in (open_store, store_exists, lambda there: create_store(there, settings_of())):
        with pytest.raises(IndexStateError, match=says) as error:
            act(location)
        assert login.partition(":")[2] not in str(error.value)
        assert "127.0.0.1" in str(error.value)


def test_where_no_server_is_one_is_told_to_start_it():
    with pytest.raises(IndexStateError, match=r"127\.0\.0\.1:1 .*refused.*start the server"):
        open_store("postgresql://me@127.0.0.1:1/library/x")


def test_a_scheme_that_is_mistyped_shows_no_password():
    with pytest.raises(IndexStateError, match="no store for postgre://…; give") as error:
        open_store("postgre://me:secret@db/library/x")
    assert "secret" not in str(error.value)


# ---------------------------------------------------------------------- rights and schemas


def test_the_tests_are_run_by_a_role_without_rights_of_its_own(postgres):
    asked = "SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = %s"
    assert postgres.run(asked, OWNER) == [(False,)]


@pytest.fixture
def guest(postgres):
    """A role that may connect, and no more."""
    postgres.run("DROP ROLE IF EXISTS guest")
    postgres.run("CREATE ROLE guest LOGIN")
    yield "guest"
    postgres.run("DROP OWNED BY guest")
    postgres.run("DROP ROLE guest")


def test_who_may_not_make_a_schema_is_told_which_right_is_missing(postgres, guest):
    location = postgres.location("of a guest".replace(" ", "-"), user=guest)
    with pytest.raises(IndexWriteError, match="GRANT CREATE ON DATABASE"):
        create_store(location, settings_of())
    postgres.run('CREATE SCHEMA "of-a-guest" AUTHORIZATION guest')
    with create_store(location, settings_of()) as store:
        commit(store, document("a.pdf", [[X]]))
        assert found(store) == [("a.pdf#1", 1.0)]


def test_a_role_that_may_only_read_reads(postgres, store, guest):
    commit(store, document("a.pdf", [with_text(1, "harbour")]))
    name = schema_of(store.location)
    location = postgres.location(name, user=guest)
    for act in (open_store, store_exists):
        with pytest.raises(IndexStateError, match=r"guest may not look into it.*GRANT USAGE ON"):
            act(location)
    postgres.run(f'GRANT USAGE ON SCHEMA "{name}" TO guest')
    with pytest.raises(IndexStateError, match="no right to do this"):
        open_store(location)
    postgres.run(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{name}" TO guest')
    with open_store(location) as reading:
        assert found(reading) == [("a.pdf#1", 1.0)]
        assert reading.verify() == []
        with pytest.raises(IndexWriteError, match=r"no right to do this.*ask the owner"):
            commit(reading, document("b.pdf", [[X]]))
        with pytest.raises(IndexWriteError, match="only the owner of the tables can compact"):
            reading.compact()


def test_a_database_holds_several_indexes(postgres):
    one, two = postgres.new_location(), postgres.new_location()
    with create_store(one, settings_of()) as first, create_store(two, settings_of()) as second:
        commit(first, document("a.pdf", [[X]]))
        with first.writer():  # a writer of one is none of the other's business
            commit(second, document("b.pdf", [[Y]]))
        assert (found(first), found(second)) == ([("a.pdf#1", 1.0)], [("b.pdf#1", 0.0)])


def test_a_schema_of_other_tables_is_left_alone(postgres):
    postgres.run(f"CREATE SCHEMA theirs AUTHORIZATION {OWNER}")
    postgres.run("CREATE TABLE theirs.invoices (id int)")
    location = postgres.location("theirs")
    assert not store_exists(location)
    with pytest.raises(IndexStateError, match="holds other tables; choose another name"):
        create_store(location, settings_of())
    assert postgres.run("SELECT count(*) FROM theirs.invoices") == [(0,)]


def test_an_index_of_a_newer_format_is_refused(postgres, store):
    postgres.run(f'UPDATE "{schema_of(store.location)}".state SET format = 99')
    with pytest.raises(IndexStateError, match="has format 99, this docpruner knows 1; upgrade"):
        open_store(store.location)


def test_an_older_format_is_read_and_brought_up_to_date_by_the_first_writer(store, monkeypatch):
    commit(store, document("a.pdf", [[X]]))
    monkeypatch.setattr(postgres_schema, "FORMAT", 3)
    steps = {
        1: "ALTER TABLE documents ADD owner text NOT NULL DEFAULT 'nobody'",
        2: "ALTER TABLE documents RENAME owner TO no_such.column",
    }
    monkeypatch.setattr(postgres_schema, "MIGRATIONS", steps)

    def format_and_columns() -> tuple[int, int]:
        with store.reader() as reader:
            ((number,),) = reader._run("SELECT format FROM state")
            columns = reader._run("SELECT * FROM documents LIMIT 0") or []
            ((count,),) = reader._run(
                "SELECT count(*) FROM pg_attribute WHERE attrelid = 'documents'::regclass "
                "AND attname IN ('owner', 'holder')"
            )
            assert columns == []
        return number, count

    assert found(store) == [("a.pdf#1", 1.0)]
    with pytest.raises(IndexWriteError, match="syntax error"), store.writer():
        pytest.fail("half migrated")
    assert format_and_columns() == (1, 0)  # also the step that had worked is undone
    steps[2] = "ALTER TABLE documents RENAME owner TO holder"
    commit(store, document("b.pdf", [[X]]))
    assert format_and_columns() == (3, 1)
    assert found(store) == [("a.pdf#1", 1.0), ("b.pdf#1", 1.0)]


# ---------------------------------------------------------------------- ranking


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_rows_and_rankings_are_the_folders_bit_for_bit(location, tmp_path, codec, monkeypatch):
    """However few pages are fetched at once."""
    monkeypatch.setattr(page_stream, "FIRST", 3)
    monkeypatch.setattr(page_stream, "BLOCK", 2000)
    documents = [
        document(
            f"{name}.pdf",
            [made_page(n, unit_vectors(1 + n * 7 % 11, 32, n), codec=codec) for n in range(1, 30)],
        )
        for name in "ab"
    ]
    queries = [unit_vectors(count, 32, seed=count) for count in (1, 5, 20)]
    with (
        create_store(location, settings_of(dim=32, codec=codec)) as store,
        create_folder(tmp_path / "index", dim=32, codec=codec) as folder,
    ):
        ranked = []
        for each in (store, folder):
            commit(each, *documents)
            with each.reader() as reader:
                among = [{("a.pdf", n), ("b.pdf", n + 1)} for n in (1, 5, 20)]
                ranked.append(
                    [
                        reader.rank(queries, 10, Filter()),
                        reader.rank(queries, 100, Filter(documents=("b*",), pages=(4, 20))),
                        reader.rank(queries, 10, Filter(), among),
                    ]
                )
        assert ranked[0] == ranked[1]
        for number in range(1, 30):
            ours, theirs = page_of(store, "a.pdf", number), page_of(folder, "a.pdf", number)
            assert np.array_equal(ours.vectors.rows, theirs.vectors.rows)
            assert ours.fingerprint == theirs.fingerprint


NAMES = (
    *("a.pdf", "/data/a.pdf", "/data/2024/a.pdf", "/data/2024/b [1].pdf", "/data/100%_done.pdf"),
    *("/data/100x_done.pdf", "/Daten/Ärger.pdf", "/Daten/A\u0308rger.pdf", "back\\slash.pdf"),
    *("line\nbreak.pdf", "/data/[x].pdf", "ends/", "日本/報告.pdf", "it's.pdf"),
)
GLOBS = (
    *("a.pdf", "data/a.pdf", "*.pdf", "/data/*", "2024/*", "*[[]1].pdf", "b [1].pdf", "b [!2].pdf"),
    *("100%_*", "100?_done.pdf", "Ärger.pdf", "A\u0308rger.pdf", "*rger*", "back\\slash.pdf"),
    *(
        "back*",
        "line*",
        "[x].pdf",
        "[]x].pdf",
        "[x",
        "ends/",
        "",
        "日本/*",
        "*報*",
        "it's*",
        "[a-b]*",
    ),
)
VALUES = (2024, "2024", 1.5, 1e22, True, None, 'it\'s "so"', ["a", "b"], ["a", ["c", 7]], [], "a")


def test_sql_finds_what_the_filter_allows(store):
    """All pairs of a name and a glob, and of metadata that is there and that is asked for."""
    dice = Random(3)
    metadata = [{"k": dice.choice(VALUES), f"k{n}\0": dice.choice(VALUES)} for n in range(40)]
    named = {name: {} for name in NAMES} | {f"m{n}": each for n, each in enumerate(metadata)}
    commit(store, *(document(name, [[X]], metadata=each) for name, each in named.items()))
    filters = [Filter(documents=(glob,)) for glob in GLOBS]
    filters += [
        Filter(documents=(one, other)) for one, other in zip(GLOBS, GLOBS[5:], strict=False)
    ]
    filters += [Filter(metadata={"k": value}) for value in (*VALUES, "c", 7, "7", "true", "null")]
    filters += [Filter(metadata={"k": v, f"k{n}\0": v}) for n, v in enumerate(VALUES)]
    empty = 0
    with store.reader() as reader:
        for which in filters:
            allowed = {name for name, each in named.items() if which.allows(name, each)}
            (best,) = reader.rank([np.float32([X])], 100, which)
            assert {page.document for page in best} == allowed, which
            empty += not allowed
    assert empty < len(filters) / 2


def test_filters_use_the_indexes_of_the_server(store):
    commit(store, *(document(f"/d/{n}.pdf", [[X]], metadata={"n": n}) for n in range(50)))
    with store.reader() as reader:
        reader._connection.execute("SET LOCAL enable_seqscan = off")
        plans = []
        for where, value in (("facts @> %s::jsonb", '{"n": ["7"]}'),):
            rows = reader._run(f"EXPLAIN SELECT id FROM documents WHERE {where}", value)
            plans.append("\n".join(line for (line,) in rows))
        last = postgres_schema.LAST_PART
        rows = reader._run(f"EXPLAIN SELECT id FROM documents WHERE {last} = ANY(%s)", ["7.pdf"])
        plans.append("\n".join(line for (line,) in rows))
        assert chosen_pages(reader._connection, Filter(metadata={"n": 7})).values[0]
    assert "documents_by_facts" in plans[0]
    assert "documents_by_last_part" in plans[1]


def test_pages_are_found_by_their_words(store):
    commit(
        store,
        document("a.pdf", [with_text(1, "the harbour of Kiel"), with_text(2, "the crane, 3.14 m")]),
        document("b.pdf", [with_text(1, "ÄRGER im Hafen: it's \\ state-of-art"), [Y]]),
        document("c.pdf", [with_text(1, "the tide of the harbour the harbour")], metadata={"y": 1}),
    )

    def ask(query: str, k: int = 10, which: Filter | None = None) -> list[str]:
        with store.reader() as reader:
            best = reader.rank_text(query, k, which or Filter())
        scores = [page.score for page in best]
        assert scores == sorted(scores, reverse=True)
        assert all(score > 0 for score in scores)
        return [f"{page.document}#{page.number}" for page in best]

    assert set(ask("harbour")) == {"a.pdf#1", "c.pdf#1"}
    assert ask("the crane")[0] == "a.pdf#2"  # the rare word counts more than the usual one
    assert set(ask("the crane")) == {"a.pdf#1", "a.pdf#2", "c.pdf#1"}
    assert ask("ärger") == ask("A\u0308RGER") == ask("it's \\") == ask("art") == ["b.pdf#1"]
    assert ask("3.14") == ["a.pdf#2"]
    assert ask("the", k=1) == ask("the")[:1]
    assert ask("harbour", which=Filter(metadata={"y": "1"})) == ["c.pdf#1"]
    assert ask("harbour crane", which=Filter(documents=("a.pdf",), pages=(2, 2))) == ["a.pdf#2"]
    assert ask("nowhere to be found") == ask("") == ask("' | & ! ( :*") == ask("\0") == []


def test_words_come_back_and_follow_their_pages(store):
    commit(store, document("a.pdf", [with_text(1, "harbour"), with_text(2, "quay")]))
    assert page_of(store, "a.pdf", 1).text.plain == "harbour"
    with store.writer() as writer:
        writer.rename({"a.pdf": "b.pdf"})
        writer.rewrite(lambda page: page, replace(writer.settings, spec="random:ratio=0.1"))
    with store.reader() as reader:
        (hit,) = reader.rank_text("quay", 5, Filter())
        assert (hit.document, hit.number) == ("b.pdf", 2)
    commit(store, document("b.pdf", [with_text(1, "tide")], version="second"))
    with store.reader() as reader:
        assert reader.rank_text("quay harbour", 5, Filter()) == []
    assert stats_of(store).pages == 1


def test_a_page_of_very_many_words_is_stored_and_found(store):
    text = " ".join(f"word{n}" for n in range(60_000))
    commit(store, document("a.pdf", [with_text(1, text)]))
    with store.reader() as reader:
        assert len(reader.rank_text("word7", 5, Filter())) == 1
    assert len(page_of(store, "a.pdf", 1).text.words) == 60_000


# ---------------------------------------------------------------------- bytes


def test_a_store_in_postgres_can_be_verified_and_compacted(store):
    assert isinstance(store, Verifiable)
    assert isinstance(store, Compactable)


@pytest.mark.parametrize(
    "damage",
    [
        "pages SET rows = set_byte(rows, 5, get_byte(rows, 5) # 1) WHERE number = 2",
        "pages SET rows = substring(rows FROM 5) WHERE number = 2",
        "pages SET vectors = vectors + 1 WHERE number = 2",
        "pages SET width = width + 1 WHERE number = 2",
        "pages SET number = 7 WHERE number = 2",
        "page_details SET map = set_byte(map, 9, get_byte(map, 9) # 1) "
        "WHERE page = (SELECT id FROM pages WHERE number = 2)",
        "page_details SET words = set_byte(words, 9, get_byte(words, 9) # 1) "
        "WHERE page = (SELECT id FROM pages WHERE number = 2)",
    ],
)
def test_a_page_that_has_changed_is_noticed_and_taken_out(store, damage):
    pages = [with_text(number, "harbour", [X, Y]) for number in (1, 2, 3)]
    commit(store, document("a.pdf", pages), document("b.pdf", [[Z]]))
    assert store.verify() == []
    with store.writer() as writer, writer._connection.transaction():
        writer._run(f"UPDATE {damage}")
    progress = []
    (found_bad,) = store.verify(isolate=False, progress=lambda *told: progress.append(told))
    assert (found_bad.document, found_bad.page in (2, 7)) == ("a.pdf", True)
    assert progress[-1] == (4, 4)
    assert len(store.verify()) == 1
    assert store.verify() == []
    assert {name for name, _ in found(store)} == {"a.pdf#1", "a.pdf#3", "b.pdf#1"}
    commit(store, document("a.pdf", pages[1:2], of=3))
    assert stats_of(store).missing_pages == 0


def test_a_document_whose_entry_has_changed_goes_with_its_pages(postgres, store):
    commit(store, document("a.pdf", [[X], [Y]]), document("b.pdf", [[Z]]))
    postgres.run(f"""UPDATE "{schema_of(store.location)}".documents SET bytes = 1
        WHERE name = 'a.pdf'""")
    reasons = {(damage.page, damage.reason) for damage in store.verify()}
    assert reasons == {(n, "the entry of its document has changed") for n in (1, 2)}
    assert [entry.name for entry in documents_of(store)] == ["b.pdf"]


def test_a_page_that_cannot_be_scored_is_named(postgres, store):
    commit(store, document("a.pdf", [[X], [Y]]))
    schema = schema_of(store.location)
    nan = np.full((1, 4), np.nan, np.float32).tobytes()
    postgres.run(f'UPDATE "{schema}".pages SET rows = %b WHERE number = 2', nan)
    with pytest.raises(DamagedIndexError, match=r"a\.pdf#2 is damaged; run: docpruner verify"):
        found(store)
    postgres.run(f"""UPDATE "{schema}".pages SET rows = '\\x00' WHERE number = 2""")
    with pytest.raises(DamagedIndexError, match=r"a\.pdf#2 is damaged; run: docpruner verify"):
        found(store)
    with pytest.raises(DamagedIndexError, match=r"a\.pdf#2 is damaged"):
        page_of(store, "a.pdf", 2)
    with store.writer() as writer, pytest.raises(DamagedIndexError, match=r"a\.pdf#2 is damaged"):
        writer.rewrite(lambda page: page, writer.settings)


def test_what_all_but_the_vectors_takes_is_about_what_is_said(location):
    dice = Random(1)
    with create_store(location, settings_of(dim=128, codec="int4")) as store:
        empty = stats_of(store)
        assert empty.bytes_on_disk == empty.bytes_besides == empty.bytes_empty == EMPTY
        for number in range(8):
            pages = [
                replace(
                    made_page(n, unit_vectors(dice.randint(40, 250), 128, n), codec="int4"),
                    text=with_text(
                        1, " ".join(f"w{dice.randint(1, 900)}" for _ in range(200))
                    ).text,
                )
                for n in range(1, 31)
            ]
            commit(store, document(f"/some/where/{number}.pdf", pages))
        store.compact()
        stats = stats_of(store)
    assert stats.bytes_of_vectors + stats.bytes_besides == pytest.approx(
        stats.bytes_on_disk, rel=0.2
    )


# ---------------------------------------------------------------------- connections


def end_all(postgres, location: str) -> int:
    """Ends the connections that were made to an index, and says how many there were."""
    ended = postgres.run(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE application_name = 'docpruner' AND usename = %s",
        re.search(r"//(\w+)@", location)[1],
    )
    return len(ended)


def test_connections_that_were_ended_while_nobody_used_them_are_replaced(postgres, store):
    commit(store, document("a.pdf", [[X]]))
    assert end_all(postgres, store.location) >= 1
    assert found(store) == [("a.pdf#1", 1.0)]
    assert end_all(postgres, store.location) >= 1
    commit(store, document("b.pdf", [[X]]))
    assert len(found(store)) == 2


def test_a_connection_lost_while_reading_is_told(postgres, store):
    commit(store, document("a.pdf", [[X]]))

    def read() -> None:
        with store.reader() as reader:
            end_all(postgres, store.location)
            reader.documents()

    with pytest.raises(IndexStateError, match=r"lost the connection to .*; check the server"):
        read()
    assert found(store) == [("a.pdf#1", 1.0)]


def test_a_connection_lost_in_the_middle_of_a_commit_leaves_nothing_of_it(postgres, store):
    commit(store, document("a.pdf", [[X]]))

    class Ending(list):
        def __iter__(self):
            assert end_all(postgres, store.location) >= 1
            return super().__iter__()

    last = document("c.pdf", [[Z]])
    batch = [document("b.pdf", [[Y]]), replace(last, pages=Ending(last.pages))]
    with store.writer() as writer:
        writer.commit([document("before.pdf", [[X]])])
        with pytest.raises(IndexWriteError, match=r"lost the connection.*before is safe"):
            writer.commit(batch)
    assert [entry.name for entry in documents_of(store)] == ["a.pdf", "before.pdf"]
    with store.writer(wait=5) as writer:
        writer.commit([document("b.pdf", [[Y]]), last])
    assert len(found(store)) == 4
    assert store.verify() == []


def test_a_statement_that_takes_too_long_for_the_server_is_told(store):
    commit(store, document("a.pdf", [[X]]))
    location = f"{store.location}&options=-c%20statement_timeout%3D20"
    with (
        open_store(location) as hurried,
        pytest.raises(IndexStateError, match="raise its statement_timeout"),
        hurried.reader() as reader,
    ):
        reader._run("SELECT pg_sleep(5)")


def test_a_standby_is_read_and_says_that_it_cannot_be_written(store):
    commit(store, document("a.pdf", [[X]]))
    location = f"{store.location}&options=-c%20default_transaction_read_only%3Don"
    with open_store(location) as standby:
        assert found(standby) == [("a.pdf#1", 1.0)]
        with pytest.raises(IndexWriteError, match="read-only"):
            commit(standby, document("b.pdf", [[X]]))


def test_who_would_not_wait_for_another_writer_need_not(store):
    with store.writer(), pytest.raises(IndexBusyError, match="waited 0 s"), store.writer(wait=0):
        pytest.fail("two writers at once")


def test_a_missing_driver_says_how_to_install_it(monkeypatch):
    import sys

    for name in [each for each in sys.modules if each.startswith("docpruner.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r'pip install "docpruner\[postgres\]"'):
        open_store("postgresql://me@db/library/x")
