# make demo    see it work
# make test    everything that has to hold: lint, types, tests
# make jina    the part of it that needs transformers 4, in an environment of its own
# make faults  kills, damaged files and full disks, many more of them than `make test` tries
# Each does its own set-up in .venv; the second time that costs nothing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGE := $(VENV)/.package
SAMPLES := $(VENV)/.samples
INSTALLED := $(VENV)/.installed
JINA := .venv-jina
KERNEL := setup.py $(wildcard src/docpruner/native/*)

.PHONY: demo test lint types unit jina faults sanitize avx512 clean

demo: $(SAMPLES)
	$(BIN)/python examples/make_samples.py demo/documents
	$(BIN)/docpruner demo demo

test: lint types unit jina

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

# worksteal: neighbours stay together, so that what a file needs is set up once, not by every worker
unit: $(INSTALLED)
	$(BIN)/pytest --numprocesses auto --dist worksteal

# Jina v4's published code runs with transformers 4 only. What is not replaced is taken from .venv.
jina: $(JINA)/.installed
	PYTHONPATH=src $(JINA)/bin/python -m pytest tests/encoders/test_jina_encoder.py tests/encoders/test_jina_stand_in.py

$(JINA)/.installed: $(INSTALLED) constraints-jina.txt
	$(BIN)/python -m venv --clear $(JINA)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
		> "$$($(JINA)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/of-the-tests.pth"
	$(JINA)/bin/pip install --quiet --constraint constraints-jina.txt --requirement constraints-jina.txt
	touch $@

# 200 kills, 2000 flipped bits of catalogues, 4500 damaged files, 200 times four processes that create one
# index, PDFs that take all memory, hostile names and texts; what was tried is told at the end.
faults: $(INSTALLED)
	DOCPRUNER_KILLS=200 DOCPRUNER_FUZZ=3000 DOCPRUNER_CREATIONS=200 DOCPRUNER_HOSTILE=100 $(BIN)/pytest \
		tests/faults tests/pages/test_reader.py tests/pages/test_fuzz.py tests/stores/test_folder.py tests/test_cli_output.py tests/web/test_hostile.py

# The package alone, as a user has it; no torch.
$(PACKAGE): pyproject.toml $(KERNEL)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable .
	touch $@

# With what the sample documents are made with.
$(SAMPLES): $(PACKAGE)
	$(BIN)/pip install --quiet --editable ".[samples]"
	touch $@

# What the tests need besides: the tools, and every model family. torch comes first, see constraints.txt.
$(INSTALLED): $(PACKAGE) constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev,ocr,st,eval,web,mteb,lance,postgres,qdrant,ray,mcp,langchain,llama-index,haystack]"
	@command -v chromium >/dev/null || apt-get install --quiet --quiet --yes chromium >/dev/null 2>&1 \
		|| echo "no chromium: the tests in a browser will be skipped (Debian: apt-get install chromium)"
	@command -v tesseract >/dev/null || apt-get install --quiet --quiet --yes tesseract-ocr tesseract-ocr-rus >/dev/null 2>&1 \
		|| echo "no tesseract: tests of its languages will be skipped (Debian: apt-get install tesseract-ocr tesseract-ocr-rus)"
	touch $@

# The kernel's tests against a copy of the package whose kernel is built in another way.
define test_kernel
	rm -rf build
	CFLAGS="$(2)" $(BIN)/pip install --quiet --no-deps --target build/$(1) .
	rm -rf build/temp.* build/lib.*  # or the next build would take these objects for its own
	PYTHONPATH=build/$(1) $(3) $(BIN)/python -m pytest tests/test_maxsim.py tests/test_similarities.py tests/test_codecs.py tests/stores/test_first_stage.py
endef

# Under AddressSanitizer and UndefinedBehaviorSanitizer.
sanitize: $(INSTALLED)
	$(call test_kernel,sanitized,-g -O1 -fsanitize=address$(comma)undefined -fno-sanitize-recover=all,\
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0)

# The AVX-512 code on a machine that lacks it, by emulation (Debian: apt-get install libsimde-dev).
avx512: $(INSTALLED)
	$(call test_kernel,avx512,-O2 -DDOCPRUNER_SIMDE -Wno-psabi,)

comma := ,

clean:
	rm -rf $(VENV) $(JINA) build demo src/*.egg-info src/docpruner/*.so
