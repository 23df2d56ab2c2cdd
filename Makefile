PYTHON ?= python3

.PHONY: demo test bench growth clean

demo: .venv-demo/ready
	.venv-demo/bin/graphlint check --exit-zero examples
	@if .venv-demo/bin/python -c "import torch" 2>/dev/null; then \
		.venv-demo/bin/graphlint run --virtual examples/serving/serve.py || true; fi

test: .venv-test/ready
	.venv-test/bin/ruff check .
	.venv-test/bin/ruff format --check .
	.venv-test/bin/mypy
	.venv-test/bin/python -m pytest -n 2

# Not as a link to this folder, which would make every start of Python in that environment slower.
INSTALL_AS_USERS_DO = .venv-bench/bin/python -m pip install --quiet --no-deps --force-reinstall .

# TREES is a folder of unpacked trees: vllm, megatron-core, flashinfer-python, ... (docs/performance.md).
bench: .venv-bench/ready .venv-torchfix/ready
	$(INSTALL_AS_USERS_DO)
	.venv-bench/bin/python benchmarks/speed.py $(TREES) .venv-torchfix/bin/torchfix

growth: .venv-bench/ready
	$(INSTALL_AS_USERS_DO)
	.venv-bench/bin/python benchmarks/growth.py docs/growth.svg

# The mark is written last, so that an interrupted installation is done again.
.venv-demo/ready: pyproject.toml
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/python -m pip install --quiet -e .
	touch $@

.venv-test/ready: pyproject.toml
	$(PYTHON) -m venv .venv-test
	.venv-test/bin/python -m pip install --quiet -e ".[dev]"
	touch $@

.venv-bench/ready: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet . ruff
	touch $@

.venv-torchfix/ready:
	$(PYTHON) -m venv .venv-torchfix
	.venv-torchfix/bin/python -m pip install --quiet torchfix
	touch $@

clean:
	rm -rf .venv-demo .venv-test .venv-bench .venv-torchfix
