"""Real PDFs to train on: documentation packages of Debian, unpacked into a cache folder.

    python training/corpus.py CACHE

Needs a Debian (or derived) machine with apt-get and dpkg-deb; nothing is installed. The packages,
the versions used for the shipped model and their licences stand in packages.tsv. The PDFs
are read to train and are never shipped.
"""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys
import tarfile
from pathlib import Path

PACKAGES = Path(__file__).parent / "packages.tsv"


def package_names() -> list[str]:
    with PACKAGES.open() as rows:
        return [row["package"] for row in csv.DictReader(rows, delimiter="\t")]


def download(names: list[str], folder: Path) -> list[Path]:
    """The newest version that apt knows; `packages.tsv` says which was used."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in names if not list(folder.glob(f"{name}_*.deb"))]
    if missing:
        subprocess.run(["apt-get", "download", "--quiet", *missing], cwd=folder, check=True)
    return [sorted(folder.glob(f"{name}_*.deb"))[-1] for name in names]


def unpack(deb: Path, folder: Path) -> int:
    """Write the package's PDFs to `folder`, flat, named by their path in the package."""
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as dpkg,
        tarfile.open(fileobj=dpkg.stdout, mode="r|") as archive,
    ):
        for member in archive:
            if member.isfile() and member.name.endswith((".pdf", ".pdf.gz")):
                stream = archive.extractfile(member)
                content = stream.read() if stream else b""
                if member.name.endswith(".gz"):
                    content = gzip.decompress(content)
                name = member.name.removeprefix("./usr/share/").removesuffix(".gz")
                (folder / name.replace("/", "__")[-150:]).write_bytes(content)
                written += 1
    return written


def main(cache: Path) -> None:
    pdfs = 0
    for name, deb in zip(names := package_names(), download(names, cache / "debs"), strict=True):
        pdfs += unpack(deb, cache / "pdfs" / name)
    print(f"{len(names)} packages, {pdfs} PDFs in {cache / 'pdfs'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
