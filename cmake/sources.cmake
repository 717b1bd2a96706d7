# Every file is listed: a build must not depend on what happens to lie in a folder. Paths are relative to src/.
set(OPDUMP_CORE_SOURCES
  base/file.cc
  base/json.cc
  base/text.cc
  base/worker_pool.cc

  model/dtype.cc
  model/operator.cc
  model/shape.cc
  model/tensor_view.cc

  plan/step_set.cc

  compare/compare.cc
  compare/measure.cc
  compare/names.cc
  compare/pairing.cc
  compare/statistics.cc
  compare/verdict.cc

  report/csv.cc
  report/jsonl.cc
  report/summary.cc
  report/table.cc
)

# Doors, not part of the core.
set(OPDUMP_ABI_SOURCES
)
set(OPDUMP_CLI_SOURCES
  cli/arguments.cc
  cli/main.cc
  cli/output.cc
  cli/verbs.cc
)

# One test program for each folder.
set(OPDUMP_TEST_FOLDERS base model plan)
set(OPDUMP_TESTS_base base/base_test.cc base/worker_pool_test.cc)
set(OPDUMP_TESTS_model model/model_test.cc)
set(OPDUMP_TESTS_plan plan/step_set_test.cc)
