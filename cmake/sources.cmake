# Every file is listed: a build must not depend on what happens to lie in a folder. Paths are relative to src/.
set(OPDUMP_CORE_SOURCES
  base/file.cc
  base/json.cc
  base/text.cc

  math/convert.cc
  math/hash.cc
  math/memory_walk.cc
  math/stats.cc
  math/stats_kernels.cc
  math/stats_reference.cc
  math/strided_copy.cc
  math/transpose.cc

  model/dtype.cc
  model/operator.cc
  model/shape.cc
  model/tensor_view.cc

  plan/describe.cc
  plan/dump_plan.cc
  plan/op_selector.cc
  plan/step_set.cc

  dialect/dialects.cc
  dialect/json_section.cc
  dialect/mindspore.cc
  dialect/mindspore_common.cc
  dialect/mindspore_effects.cc
  dialect/mindspore_text.cc

  capture/job.cc
  capture/pipeline.cc
  capture/session.cc
)

# Doors, not part of the core.
set(OPDUMP_ABI_SOURCES
  abi/opdump.cc
)
set(OPDUMP_CLI_SOURCES
)

# One test program for each folder.
set(OPDUMP_TEST_FOLDERS base math model plan dialect)
set(OPDUMP_TESTS_base base/base_test.cc)
set(OPDUMP_TESTS_math math/stats_test.cc math/memory_test.cc)
set(OPDUMP_TESTS_model model/model_test.cc)
set(OPDUMP_TESTS_plan plan/dump_plan_test.cc plan/op_selector_test.cc plan/step_set_test.cc)
set(OPDUMP_TESTS_dialect dialect/mindspore_test.cc dialect/mindspore_text_test.cc)
