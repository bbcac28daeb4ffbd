"""Ways to have PostgreSQL choose the pages that are worth an exact score, on an index in a folder.

    python benchmarks/postgres_candidates.py INDEX QUERIES.jsonl postgresql://me@host/database

Every way is timed on the server, in the schema `candidates`, which is dropped in the end; pages may
be stored `--times` over, to see how it grows. Recall is the share of the exact ten best pages among
the candidates.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psycopg
from rich.console import Console
from rich.table import Table

from docpruner.facade import Index
from docpruner.stores.first_stage.centroids import Centroids, centroids_for, train
from docpruner.types import Filter

PROBED = 128  # centroids of each token
TOP = 10


class Bench:
    def __init__(self, connection: psycopg.Connection, index: Index, times: int) -> None:
        self.connection, self.times = connection, times
        with index.reader() as reader:
            self.names = sorted(reader.pages())
            pages = [reader.page(*name) for name in self.names]
        self.encoded = [page.vectors for page in pages]
        self.vectors = [each.decode() for each in self.encoded]
        connection.execute("DROP SCHEMA IF EXISTS candidates CASCADE")
        connection.execute("CREATE SCHEMA candidates")
        connection.execute("SET search_path = candidates, public")

    def load_rows(self) -> None:
        run = self.connection.execute
        run("CREATE TABLE pages (id int PRIMARY KEY, rows bytea)")
        run("ALTER TABLE pages ALTER rows SET STORAGE EXTERNAL")
        with self.connection.cursor().copy("COPY pages FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["int4", "bytea"])
            for turn in range(self.times):
                for number, each in enumerate(self.encoded):
                    copy.write_row((turn * len(self.names) + number, each.rows.tobytes()))

    def load_lists(self) -> Centroids:
        """The same lists twice: as arrays, and as bytes."""
        together = np.concatenate(self.vectors)
        centroids = train(together, centroids_for(len(together) * self.times))
        owners: dict[int, list[int]] = {}
        for number, each in enumerate(self.encoded):
            for centroid in np.unique(centroids.nearest(each)[0]).tolist():
                owners.setdefault(centroid, []).append(number)
        self.connection.execute("CREATE TABLE lists (centroid int PRIMARY KEY, pages int[])")
        self.connection.execute("CREATE TABLE packed (centroid int PRIMARY KEY, pages bytea)")
        count = len(self.names)
        for table, types in (("lists", ["int4", "int4[]"]), ("packed", ["int4", "bytea"])):
            statement = f"COPY {table} FROM STDIN (FORMAT BINARY)"
            with self.connection.cursor().copy(statement) as copy:
                copy.set_types(types)
                for centroid, own in owners.items():
                    every = [turn * count + page for turn in range(self.times) for page in own]
                    packed = np.array(every, "<u4").tobytes()
                    copy.write_row((centroid, every if table == "lists" else packed))
        return centroids

    def load_signs(self) -> None:
        self.connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        self.connection.execute("CREATE TABLE signs (page int, v bit(128))")
        with self.connection.cursor().copy("COPY signs FROM STDIN") as copy:
            for turn in range(self.times):
                for number, vectors in enumerate(self.vectors):
                    for row in vectors > 0:
                        text = "".join("1" if bit else "0" for bit in row)
                        copy.write_row((turn * len(self.names) + number, text))

    def size(self, table: str) -> float:
        """Bytes a page."""
        row = self.connection.execute("SELECT pg_total_relation_size(%s)", [table]).fetchone()
        return row[0] / (len(self.names) * self.times)


def probe(centroids: Centroids, query: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    places, values = centroids.best(query, PROBED)
    return places, values - values[:, -1:]


def by_sql(bench: Bench, centroids: Centroids) -> Callable[[np.ndarray, int], list[int]]:
    statement = """SELECT page FROM (
        SELECT token, page, max(worth) AS best
        FROM unnest(%s::int[], %s::int[], %s::float4[]) AS asked (token, centroid, worth)
        JOIN lists USING (centroid), unnest(pages) AS page GROUP BY token, page) AS each
        GROUP BY page ORDER BY sum(best) DESC LIMIT %s"""

    def choose(query: np.ndarray, count: int) -> list[int]:
        places, worths = probe(centroids, query)
        tokens = np.repeat(np.arange(len(places)), places.shape[1])
        values = [tokens.tolist(), places.ravel().tolist(), worths.ravel().tolist(), count]
        return [page for (page,) in bench.connection.execute(statement, values)]

    return choose


def by_client(bench: Bench, centroids: Centroids) -> Callable[[np.ndarray, int], list[int]]:
    pages = len(bench.names) * bench.times
    statement = "SELECT centroid, pages FROM packed WHERE centroid = ANY(%s)"

    def choose(query: np.ndarray, count: int) -> list[int]:
        places, worths = probe(centroids, query)
        cursor = bench.connection.cursor(binary=True)
        rows = cursor.execute(statement, [np.unique(places).tolist()])
        lists = {centroid: np.frombuffer(data, "<u4") for centroid, data in rows}
        gains = np.zeros(pages, np.float32)
        for centroid, worth in zip(places.tolist(), worths, strict=True):
            best = np.zeros(pages, np.float32)
            for each, value in zip(centroid[::-1], worth[::-1], strict=True):
                if each in lists:
                    best[lists[each]] = value
            gains += best
        some = np.argpartition(-gains, min(count, pages - 1))[:count]
        return some[np.argsort(-gains[some], kind="stable")].tolist()

    return choose


def by_signs(bench: Bench) -> Callable[[np.ndarray, int], list[int]]:
    statement = """SELECT page FROM (
        SELECT page, token, min(v <~> u) AS least
        FROM signs, unnest(%s::text[]::bit(128)[]) WITH ORDINALITY AS asked (u, token)
        GROUP BY page, token) AS each GROUP BY page ORDER BY sum(least) LIMIT %s"""

    def choose(query: np.ndarray, count: int) -> list[int]:
        tokens = ["".join("1" if bit else "0" for bit in row) for row in query > 0]
        return [page for (page,) in bench.connection.execute(statement, [tokens, count])]

    return choose


def streamed(bench: Bench) -> float:
    """Seconds to have all rows here, which is what an exact search costs at least."""
    began = time.perf_counter()
    with bench.connection.transaction():
        cursor = bench.connection.cursor("rows", binary=True)
        cursor.execute("SELECT id, rows FROM pages")
        while cursor.fetchmany(500):
            pass
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index")
    parser.add_argument("queries", type=Path)
    parser.add_argument("database")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--asked", type=int, default=30)
    parser.add_argument("--signs", action="store_true", help="Also by Hamming distances: slow.")
    given = parser.parse_args()
    lines = given.queries.read_text("utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines][:: max(1, len(lines) // given.asked)]
    with Index.open(given.index) as index:
        queries = index.encoder.encode_queries(texts)
        with index.reader() as reader:
            exact = reader.rank(queries, TOP, Filter())
        connection = psycopg.connect(given.database, autocommit=True)
        bench = Bench(connection, index, given.times)
    places = {name: number for number, name in enumerate(bench.names)}
    wanted = [{places[page.name] for page in best} for best in exact]
    bench.load_rows()
    centroids = bench.load_lists()
    ways = {
        "lists, in SQL": (by_sql(bench, centroids), bench.size("lists")),
        "lists, summed here": (by_client(bench, centroids), bench.size("packed")),
    }
    if given.signs:
        bench.load_signs()
        ways["Hamming, in SQL"] = (by_signs(bench), bench.size("signs"))
    connection.execute("ANALYZE")
    figures = {"pages": len(places) * given.times, "centroids": len(centroids)}
    figures["rows streamed, ms"] = round(min(streamed(bench) for _ in range(3)) * 1000, 1)
    table = Table("way", "bytes/page", "ms p50", *(f"recall in {m}" for m in (30, 100, 200)))
    for name, (choose, size) in ways.items():
        seconds, hits = [], {30: 0, 100: 0, 200: 0}
        for query, right in zip(queries, wanted, strict=True):
            began = time.perf_counter()
            chosen = choose(query, 200 * given.times)
            seconds.append(time.perf_counter() - began)
            for most in hits:
                some = {page % len(places) for page in chosen[: most * given.times]}
                hits[most] += len(right & some)
        recall = {m: round(count / TOP / len(queries), 3) for m, count in hits.items()}
        middle = round(float(np.median(seconds)) * 1000, 1)
        figures[name] = {"bytes": round(size), "ms": middle, "recall": recall}
        table.add_row(name, f"{size:.0f}", f"{middle}", *(str(each) for each in recall.values()))
    connection.execute("DROP SCHEMA candidates CASCADE")
    connection.close()
    Console().print(table)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
