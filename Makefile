# What a person types. `make help` lists it; every goal does the set-up it needs, once.
#
# Stamps in .build/ remember what has been set up; a stamp is made anew when what it was made
# from (a lock file, a list of packages) has changed.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory
# Otherwise each of the hundreds of programs that tests start compiles all of its modules anew.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
BIN := .venv/bin
# Without make's own -j, which it cannot take part in and complains about.
NINJA := env -u MAKEFLAGS $(BIN)/ninja
CORE := server-core/build
CORE_SANITIZED := server-core/build-sanitized
CORE_FUZZ := server-core/build-fuzz
CORE_THREAD := server-core/build-thread

# Each prints one Markdown section; the first one the heading and the machine.
BENCHMARKS := server-core/bench/report.py server-core/bench/peers.py server-core/bench/idle_memory.py \
              server-core/bench/many_connections.py server-core/bench/stats_cost.py server-core/bench/access_log_cost.py server-core/bench/accept_limits.py server-core/bench/generator_rate.py \
              tuner/bench/replay.py tuner/bench/families.py agent/bench/workloads.py agent/bench/sampling_cost.py agent/bench/server_start.py agent/bench/mask_cost.py agent/bench/affinity_plans.py webui/bench/report.py

# Black-box tests that run once more under the thread sanitizer (an expression of pytest -k).
THREADED := (test_every_mode and (mt- or pipeline- or knot- or nm-)) or test_user_threads or test_pipeline.py or test_stage_controllers or (test_thread_per_connection and mt)

# Debian packages, by what they are for. A machine that has an nginx keeps it as it is: nginx-light beside another
# package of it would load one more module into it.
PACKAGES_RUN := gcc iproute2 libc6-dev libjansson-dev libnghttp2-dev libssl-dev liburing-dev openssl pkg-config python3-venv $(if $(wildcard /usr/sbin/nginx),,nginx-light)
# The other servers that can be tuned; who tunes only one of them needs only that one.
PACKAGES_TARGETS := apache2-bin h2o lighttpd lighttpd-mod-openssl mariadb-server nginx-light
PACKAGES_TEST := linux-perf irqbalance libcmocka-dev wrk httperf chromium fonts-dejavu-core gunicorn php-fpm postgresql uvicorn $(PACKAGES_TARGETS)
PACKAGES_FUZZ := clang libclang-rt-14-dev
PACKAGES_DEB := dpkg-dev
# What people have written to the tables of a page; named with its file.
LAB_PAGE := python3 package/lab_page.py package/lab_notes
PACKAGES_BENCH := wrk httperf nghttp2-client strace sysbench valgrind $(PACKAGES_TARGETS)

.PHONY: help setup build up tune demo docs test check deb test-deb bench bench-live bench-live-tuning bench-fleet bench-mariadb bench-tls behaviours study fuzz clean lock packages-test packages-bench \
        packages sanitized test-core test-units test-agent test-kernel test-kill test-kernel-kill test-live-kill test-fleet test-live test-webui test-browser test-stack

help: ## list the goals
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-17s %s\n", $$1, $$2}'

# --- set-up ---------------------------------------------------------------------------------

setup: .build/packages-run .build/venv build ## packages, C build, virtual environment, database
	@$(BIN)/trimtab db upgrade

# Packages are installed only where dpkg knows of none yet. A freshly installed server package
# would be started by its maintainer script; policy-rc.d is Debian's way to say no to that.
define install_packages
	@mkdir -p .build
	@missing=(); for package in $(1); do \
	  dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || missing+=($$package); done; \
	if (($${#missing[@]})); then \
	  command -v apt-get >/dev/null || { echo "make: install these by hand, apt-get is not here: $${missing[*]}" >&2; exit 1; }; \
	  echo "installing Debian packages: $${missing[*]}"; \
	  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	  policy=/usr/sbin/policy-rc.d; ours=; \
	  [ -e $$policy ] || { printf '#!/bin/sh\nexit 101\n' | $$sudo install -m 755 /dev/stdin $$policy; ours=yes; }; \
	  restore() { [ -z "$$ours" ] || $$sudo rm -f $$policy; }; trap restore EXIT; \
	  $$sudo apt-get update -qq; \
	  $$sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "$${missing[@]}" >.build/apt.log 2>&1 \
	    || { cat .build/apt.log >&2; exit 1; }; \
	fi
	@touch $@
endef

.build/packages-run: Makefile
	$(call install_packages,$(PACKAGES_RUN))
.build/packages-test: Makefile
	$(call install_packages,$(PACKAGES_TEST))
.build/packages-fuzz: Makefile
	$(call install_packages,$(PACKAGES_FUZZ))
# SMAC3, which the search strategies are compared with; nothing else needs it.
.build/bench-peers: tuner/bench/requirements.lock .build/venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r tuner/bench/requirements.lock
	@touch $@
.build/packages-deb: Makefile
	$(call install_packages,$(PACKAGES_DEB))
.build/packages-bench: Makefile
	$(call install_packages,$(PACKAGES_BENCH))

.build/venv: requirements.lock requirements-dev.lock agent/pyproject.toml db/pyproject.toml trials/pyproject.toml tuner/pyproject.toml | .build/packages-run
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"make: {sys.executable} is Python {v.major}.{v.minor}; Trimtab needs 3.11 or newer (make PYTHON=...)")'
	@echo "making the virtual environment .venv"
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock -r requirements-dev.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e trials -e tuner -e db -e agent
	@touch $@

# Sets up the build directory $(1) with the options $(2) and the environment $(3). meson looks for ninja in the
# path, where it need not be, and says on standard output what it lacks.
, := ,
define configure
	@[ -f $(1)/build.ninja ] || NINJA=$(CURDIR)/$(BIN)/ninja $(3) $(BIN)/meson setup $(1) server-core $(2) >.build/meson.log \
	  || { cat .build/meson.log >&2; exit 1; }
endef

build: .build/packages-run .build/venv ## compile the server and the load generator
	$(call configure,$(CORE))
	@$(NINJA) -C $(CORE) --quiet

.build/npm: webui/package.json webui/package-lock.json
	@mkdir -p .build
	@command -v npm >/dev/null || { echo "make: npm was not found; the web UI needs Node.js 20.19 or newer. What needs no web UI: make tune, .venv/bin/trimtab" >&2; exit 1; }
	@echo "installing the web UI's packages"
	@cd webui && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

.build/webui: .build/npm webui/index.html webui/openapi.json $(shell find webui/src webui/public -type f -not -path '*/api/generated/*' 2>/dev/null) $(wildcard webui/*.ts webui/tsconfig*.json)
	@echo "building the web UI"
	@cd webui && npm run --silent build >../.build/webui.log 2>&1 || { cat ../.build/webui.log >&2; exit 1; }
	@touch $@

# --- use ------------------------------------------------------------------------------------

tune: setup ## the main job in the terminal: tune the server on the quick preset
	@$(BIN)/trimtab tune --preset quick

up: setup .build/webui .build/docs-site/index.html ## build the web UI and the documentation, start the daemon with it on http://127.0.0.1:8080
	@$(BIN)/trimtab up

demo: .build/venv .build/webui .build/docs-site/index.html ## look round: the daemon with its web UI on simulated measurements, in var-demo/
	@$(BIN)/trimtab up --demo

# The generator of the site, which nothing else needs.
.build/docs-tools: requirements-docs.lock .build/venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	@touch $@

# Made anew when a page has changed; its reference of commands is that of the code at that time.
.build/docs-site/index.html: .build/docs-tools zensical.toml $(shell find docs -type f -not -path 'docs/reference/*')
	@echo "building the documentation"
	@package/site $(BIN)/python >.build/docs.log 2>&1 || { cat .build/docs.log >&2; exit 1; }

docs: .build/docs-tools ## build the documentation as a site, which the daemon serves at /docs; fails at a broken link
	@package/site $(BIN)/python

# --- look and test --------------------------------------------------------------------------

check: .build/venv .build/npm ## formatting, linters, types, import rules
	@$(BIN)/ruff format --check --quiet . || { echo "make: run .venv/bin/ruff format" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy -p trimtab_trials -p trimtab_tuner -p trimtab_db -p trimtab_agent
	@MYPYPATH=server-core/bench:agent/tests:db/tests $(BIN)/mypy $(wildcard server-core/bench/*.py tuner/bench/*.py agent/bench/*.py)
	@$(BIN)/mypy $(wildcard webui/bench/*.py)
	@MYPYPATH=package $(BIN)/mypy $(wildcard package/*.py) server-core/check_layers.py
	@MYPYPATH=.ci $(BIN)/mypy .ci/failures.py .ci/live.py
	@$(BIN)/lint-imports
	@$(BIN)/python server-core/check_layers.py
	@find server-core -path 'server-core/build*' -prune -o \( -name '*.[ch]' -print \) | xargs $(BIN)/clang-format --dry-run -Werror
	@cd webui && npm run --silent check

# Two suites. The gate says whether the code is right, and says the same on any machine; what measures, needs real
# time or a server that is not ours is `live` (docs/internals/contributing.md). $(1): its name, $(2): processes; those
# of the core wait for servers more than they work.
GATE = -q -n $(or $(2),2) -m "not live and not kernel" --junitxml=.build/junit/$(1).xml
KERNEL = -q -m "kernel and not live" --junitxml=.build/junit/$(1).xml
SANITIZED := TRIMTAB_HTTPD=$(CURDIR)/$(CORE_SANITIZED)/httpd/trimtab-httpd TRIMTAB_LOAD=$(CURDIR)/$(CORE_SANITIZED)/loadgen/trimtab-load TRIMTAB_UPSTREAM=$(CURDIR)/$(CORE_SANITIZED)/upstream/trimtab-upstream
THREAD_CHECKED := TRIMTAB_HTTPD=$(CURDIR)/$(CORE_THREAD)/httpd/trimtab-httpd

packages: setup .build/packages-test .build/packages-deb .build/npm .build/docs-tools # what has to be downloaded before the tests

# What waits more than it works goes beside what works; nothing goes beside the tests that change the machine, and the
# agent's count the processes of theirs, while the database's have a PostgreSQL.
test: setup ## the gate: linters, C under sanitizers, Python, web, browser; a quarter of an hour
	@$(MAKE) -j3 --output-sync check test-core test-units
	@$(MAKE) -j2 --output-sync test-agent test-webui
	@$(MAKE) test-kernel
	@$(MAKE) test-browser

sanitized: .build/packages-test setup
	$(call configure,$(CORE_SANITIZED),-Dbuildtype=debug -Db_lto=false -Db_sanitize=address$(,)undefined)
	@$(NINJA) -C $(CORE_SANITIZED) --quiet
	$(call configure,$(CORE_THREAD),-Dbuildtype=debug -Db_lto=false -Db_sanitize=thread)
	@$(NINJA) -C $(CORE_THREAD) --quiet httpd/trimtab-httpd # the only one of its programs that is tested

test-core: sanitized
	@$(BIN)/meson test -C $(CORE_SANITIZED) --no-rebuild --print-errorlogs --timeout-multiplier 10 \
	  || { mkdir -p .build/junit; cp $(CORE_SANITIZED)/meson-logs/testlog.junit.xml .build/junit/c.xml; exit 1; }
	@$(SANITIZED) $(BIN)/pytest $(call GATE,core,4) server-core/tests
	@$(THREAD_CHECKED) $(BIN)/pytest $(call GATE,core-threads,4) server-core/tests/http -k "$(THREADED)"

test-units: .build/packages-test setup
	@$(BIN)/pytest $(call GATE,python) trials/tests tuner/tests db/tests package/tests

test-agent: .build/packages-test setup
	@$(BIN)/pytest $(call GATE,agent) agent/tests

test-kernel: .build/packages-test setup
	@$(BIN)/pytest $(call KERNEL,kernel) agent/tests

test-kill: setup ## kill -9 a run at 50 random instants; ten minutes
	@TRIMTAB_KILLS=50 $(BIN)/pytest -q agent/tests/study/test_kill.py

test-kernel-kill: setup ## kill -9 a run with kernel knobs 200 times; what it has set is put back each time; 20 minutes
	@TRIMTAB_KILLS=200 $(BIN)/pytest -q -s agent/tests/kernel/test_kills.py

test-live-kill: setup ## kill -9 what live tuning has running 200 times; production is as before each time; half an hour
	@TRIMTAB_KILLS=200 $(BIN)/pytest -q -s agent/tests/live/test_kills.py

test-fleet: packages setup ## the fleet with real processes: hosts in namespaces, PostgreSQL, kills; and its containers; half an hour
	@$(BIN)/pytest -q agent/tests/fleet db/tests/test_bookings.py db/tests/test_stations.py
	@PYTHONPATH=.ci $(BIN)/pytest -q .ci/test_fleet_compose.py

test-webui: .build/npm
	@cd webui && npm run --silent test

test-browser: .build/packages-test setup .build/webui
	@cd webui && npm run --silent e2e

# The gate's property tests have the same examples each time; here they have new ones.
test-live: sanitized .build/webui ## what measures or takes real time, one after the other; each failure runs once more; decides nothing
	@failed=; \
	$(SANITIZED) $(BIN)/python .ci/live.py core server-core/tests || failed+=" core"; \
	$(THREAD_CHECKED) $(BIN)/python .ci/live.py core-threads server-core/tests/http -k "$(THREADED)" || failed+=" core-threads"; \
	$(BIN)/python .ci/live.py python trials/tests tuner/tests db/tests package/tests agent/tests || failed+=" python"; \
	$(SANITIZED) $(BIN)/python .ci/live.py random -m "hypothesis and not live and not kernel" --hypothesis-profile=random || failed+=" random"; \
	(cd webui && npm run --silent e2e:live) || failed+=" browser"; \
	[ -z "$$failed" ] || { echo "make: failed twice in:$$failed" >&2; exit 1; }

fuzz: SECONDS := 60
fuzz: .build/packages-fuzz .build/packages-run .build/venv ## have clang make up inputs for SECONDS per target; what breaks one is left in .build/fuzz
	$(call configure,$(CORE_FUZZ),-Dfuzz=true -Dtests=disabled -Dwerror=false -Dbuildtype=debugoptimized -Db_lto=false -Db_sanitize=address$(,)undefined -Db_lundef=false,CC=clang)
	@$(NINJA) -C $(CORE_FUZZ) --quiet
	@for target in protocol values config control http2 sessions reply results sql_reply trace; do \
	  mkdir -p .build/fuzz/$$target; echo "$$target, $(SECONDS) s"; \
	  $(CORE_FUZZ)/tests/fuzz/fuzz-$$target -max_total_time=$(SECONDS) -timeout=5 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
	    -artifact_prefix=.build/fuzz/$$target- .build/fuzz/$$target server-core/tests/fuzz/corpus/$$target; done

# Makes the page $(1) of docs/lab of what the scripts $(2) print when they are told $(3). ONLY=many_connections measures
# what that script does and leaves the rest of the page as it is.
ONLY :=
asked = $(if $(ONLY),$(filter $(addprefix %/,$(addsuffix .py,$(ONLY))),$(1)),$(1))
define measure_page
	@[ -n "$(call asked,$(2))" ] || { echo "make: ONLY=$(ONLY): expected one or more of $(basename $(notdir $(2)))" >&2; exit 1; }
	@{ for script in $(call asked,$(2)); do $(BIN)/python $$script $(3); echo; done; } | tee .build/$(1)-measured.md
	@$(LAB_PAGE)/$(1).md $(if $(ONLY),docs/lab/$(1).md) < .build/$(1)-measured.md > .build/$(1).md
	@cp .build/$(1).md docs/lab/$(1).md
endef

bench: setup .build/webui .build/packages-bench .build/bench-peers ## measure speed and memory against peers, interleaved; ONLY=many_connections: that table alone; writes docs/lab/benchmarks.md
	@$(NINJA) -C $(CORE) --quiet bench/do-nothing bench/do-nothing-client
	$(call measure_page,benchmarks,$(BENCHMARKS))

bench-live: setup ## what whole runs on this machine claim: A/A, A/B, quick against grid; three hours; writes docs/lab/whole-runs.md
	@$(BIN)/python agent/bench/tuning_runs.py > .build/whole-runs.md
	@$(LAB_PAGE)/whole-runs.md < .build/whole-runs.md > docs/lab/whole-runs.md

# SECONDS is for how long each but the first and the last two measures, at most: 0 prints what there is. ONLY as with
# `bench`.
LIVE_BENCHMARKS := tuner/bench/live_episodes.py agent/bench/live_same.py agent/bench/live_harm.py agent/bench/live_shift.py agent/bench/live_recovery.py \
                   agent/bench/live_goodput.py agent/bench/live_replicas.py agent/bench/live_changes.py agent/bench/observing_cost.py

bench-live-tuning: setup .build/packages-test ## live tuning: episodes, simulated and with real servers, changes of the traffic, replicas, what clients see, what observing costs; eighteen hours; writes docs/lab/live-tuning.md
	$(call measure_page,live-tuning,$(LIVE_BENCHMARKS),$(SECONDS))

# MINUTES is for how long the last two measure, each; ONLY as with `bench`.
FLEET_BENCHMARKS := tuner/bench/fleet_hosts.py agent/bench/fleet_scale.py agent/bench/fleet_busy.py agent/bench/fleet_two_hosts.py

bench-fleet: packages setup ## the fleet, simulated and with hosts in namespaces: what deciding costs, a busy host, two hosts beside one; four hours; writes docs/lab/fleet.md
	$(call measure_page,fleet,$(FLEET_BENCHMARKS),$(MINUTES))

bench-mariadb: .build/packages-bench setup ## trimtab-load beside sysbench, MariaDB's threads beside a pool of them; a quarter of an hour; writes docs/lab/mariadb.md
	@$(BIN)/python server-core/bench/mariadb.py > .build/mariadb.md
	@$(LAB_PAGE)/mariadb.md < .build/mariadb.md > docs/lab/mariadb.md

bench-tls: .build/packages-bench setup ## trimtab-load beside h2load and wrk over TLS and HTTP/2, interleaved, on nginx; six minutes; writes docs/lab/tls.md
	@$(BIN)/python server-core/bench/tls_generators.py > .build/tls.md
	@$(LAB_PAGE)/tls.md < .build/tls.md > docs/lab/tls.md

behaviours: setup ## measure the testable statements of the literature, where rounds are missing; writes docs/lab/behaviours.md
	@$(BIN)/python server-core/bench/behaviours.py
	@$(BIN)/python server-core/bench/behaviours.py --page > .build/behaviours.md
	@$(LAB_PAGE)/behaviours.md < .build/behaviours.md > docs/lab/behaviours.md

study: setup ## the thesis' comparison in its short form; an hour; writes docs/lab/study.md
	@$(BIN)/trimtab study thesis --short --var .build/study --page .build/study.md
	@cp .build/study-*.svg docs/lab/
	@$(LAB_PAGE)/study.md < .build/study.md > docs/lab/study.md

# --- hand over ------------------------------------------------------------------------------

DEB = .build/trimtab_$(shell cat VERSION)_$(shell dpkg --print-architecture).deb

deb: .build/packages-deb .build/venv .build/webui ## make the Debian package
	@PATH="$(CURDIR)/$(BIN):$$PATH" package/stage .build/stage webui/dist
	@package/deb/build .build/stage $(DEB)
	@ls -sh $(DEB)

test-deb: deb ## install the Debian package in a clean container, use it, remove it; wants a Docker engine
	@package/deb/test $(DEB)

test-stack: .build/venv ## build the container stack, tune through its published port, take it down; wants a Docker engine
	@$(BIN)/pytest -q --junitxml=.build/junit/compose.xml .ci/test_compose.py

# --- keep -----------------------------------------------------------------------------------

lock: ## resolve the Python dependencies anew into the lock files
	@compile="uv pip compile --quiet --upgrade --python-version 3.11 --no-python-downloads --generate-hashes"; \
	uvx() { $$compile --custom-compile-command 'make lock' "$$@"; }; \
	uvx --no-emit-package trimtab-db --no-emit-package trimtab-trials --no-emit-package trimtab-tuner agent/pyproject.toml db/pyproject.toml trials/pyproject.toml tuner/pyproject.toml -o requirements.lock; \
	uvx --group dev -c requirements.lock -o requirements-dev.lock; \
	uvx --group docs -c requirements.lock -c requirements-dev.lock -o requirements-docs.lock; \
	uvx -c requirements.lock -c requirements-dev.lock tuner/bench/requirements.in -o tuner/bench/requirements.lock

clean: ## remove what was built; experiments in var/ stay
	@rm -rf .build .venv server-core/build server-core/build-sanitized server-core/build-thread $(CORE_FUZZ) webui/dist webui/node_modules webui/src/api/generated
