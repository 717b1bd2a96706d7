# Every file is listed: a build must not depend on what happens to lie in a folder. Paths are relative to src/.
set(OPDUMP_CORE_SOURCES
  base/file.cc
  base/json.cc
  base/text.cc

  dump/file_name.cc
  dump/npy_file.cc
  dump/operator_log.cc
  dump/rank_tree.cc
  dump/status_file.cc
  dump/tree_file.cc

  format/mapping_csv.cc
  format/npy.cc
  format/statistic_csv.cc

  model/dtype.cc
  model/operator.cc
  model/shape.cc
  model/tensor_view.cc

  plan/step_set.cc
)

# Doors, not part of the core.
set(OPDUMP_ABI_SOURCES
)
set(OPDUMP_CLI_SOURCES
)

# One test program for each folder.
set(OPDUMP_TEST_FOLDERS base dump format model plan)
set(OPDUMP_TESTS_base base/base_test.cc)
set(OPDUMP_TESTS_dump
  dump/file_name_test.cc
  dump/operator_log_test.cc
  dump/rank_tree_test.cc
)
set(OPDUMP_TESTS_format
  format/mapping_csv_test.cc
  format/npy_test.cc
  format/statistic_csv_test.cc
)
set(OPDUMP_TESTS_model model/model_test.cc)
set(OPDUMP_TESTS_plan plan/step_set_test.cc)
