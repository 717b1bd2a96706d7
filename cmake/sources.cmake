# Every file is listed: a build must not depend on what happens to lie in a folder. Paths are relative to src/.
# Folders in the order of their layers; each has its sources and its tests (one test program for each folder).
set(OPDUMP_CORE_SOURCES)

list(APPEND OPDUMP_CORE_SOURCES
  base/divide.cc
  base/file.cc
  base/isolated.cc
  base/file_copy.cc
  base/json.cc
  base/text.cc
  base/worker_pool.cc
)
set(OPDUMP_TESTS_base base/base_test.cc base/divide_test.cc base/isolated_test.cc base/worker_pool_test.cc)

list(APPEND OPDUMP_CORE_SOURCES
  model/dtype.cc
  model/format.cc
  model/operator.cc
  model/shape.cc
  model/tensor_view.cc
)
set(OPDUMP_TESTS_model model/model_test.cc)

list(APPEND OPDUMP_CORE_SOURCES
  math/box_copy.cc
  math/convert.cc
  math/device_layout.cc
  math/hash.cc
  math/layout_boxes.cc
  math/layout_plan.cc
  math/layout_table.cc
  math/memory_walk.cc
  math/metrics.cc
  math/metrics_kernels.cc
  math/metrics_reference.cc
  math/numpy_metrics.cc
  math/numpy_metrics_kernels.cc
  math/small_floats.cc
  math/stats.cc
  math/stats_kernels.cc
  math/stats_reference.cc
  math/strided_copy.cc
  math/transpose.cc
)
set(OPDUMP_TESTS_math
  math/device_layout_cann_test.cc
  math/device_layout_test.cc
  math/memory_test.cc
  math/metrics_test.cc
  math/numpy_metrics_test.cc
  math/small_floats_test.cc
  math/stats_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  plan/describe.cc
  plan/dump_plan.cc
  plan/model_selector.cc
  plan/op_selector.cc
  plan/step_set.cc
)
set(OPDUMP_TESTS_plan plan/dump_plan_test.cc plan/model_selector_test.cc plan/op_selector_test.cc plan/step_set_test.cc)

list(APPEND OPDUMP_CORE_SOURCES
  dialect/dialects.cc
  dialect/json_section.cc
  dialect/mindspore.cc
  dialect/mindspore_common.cc
  dialect/mindspore_effects.cc
  dialect/mindspore_text.cc
)
set(OPDUMP_TESTS_dialect
  dialect/dialects_test.cc
  dialect/mindspore_places_test.cc
  dialect/mindspore_plan_test.cc
  dialect/mindspore_rules_test.cc
  dialect/mindspore_text_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  format/dump_data.cc
  format/dump_names.cc
  format/execution_order.cc
  format/ge_build.cc
  format/ge_graph.cc
  format/ge_onnx.cc
  format/ge_schema.cc
  format/graph_ir_read.cc
  format/graph_ir_write.cc
  format/graph_pb_read.cc
  format/graph_pb_write.cc
  format/graph_proto.cc
  format/graph_rows.cc
  format/h5_library.cc
  format/h5_read.cc
  format/h5_types.cc
  format/h5_write.cc
  format/ir_text.cc
  format/mapping_csv.cc
  format/npy.cc
  format/npz.cc
  format/onnx_tensor.cc
  format/op_debug.cc
  format/proto_text.cc
  format/op_debug_text.cc
  format/op_statistic_csv.cc
  format/statistic_csv.cc
  format/tlv_dump.cc
  format/torch_file.cc
  format/zip_writer.cc
)
set(OPDUMP_TESTS_format
  format/dump_data_test.cc
  format/execution_order_test.cc
  format/ge_build_test.cc
  format/ge_graph_test.cc
  format/graph_ir_test.cc
  format/graph_pb_test.cc
  format/h5_test.cc
  format/mapping_csv_test.cc
  format/npy_test.cc
  format/op_debug_test.cc
  format/proto_text_test.cc
  format/op_debug_text_test.cc
  format/op_statistic_csv_test.cc
  format/statistic_csv_test.cc
  format/tlv_dump_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  dump/arguments_file.cc
  dump/call_file.cc
  dump/container_files.cc
  dump/dump_set.cc
  dump/file_kind.cc
  dump/file_name.cc
  dump/ge_graph_files.cc
  dump/ge_graph_find.cc
  dump/graph_files.cc
  dump/layout.cc
  dump/model_tree.cc
  dump/npy_file.cc
  dump/operator_log.cc
  dump/rank_tree.cc
  dump/run_metadata.cc
  dump/statistic_tables.cc
  dump/status_file.cc
  dump/step_directories.cc
  dump/step_reader.cc
  dump/stored_tensor.cc
  dump/tensor_names.cc
  dump/tensor_stream.cc
  dump/tree_file.cc
  dump/tree_location.cc
)
set(OPDUMP_TESTS_dump
  dump/dump_set_test.cc
  dump/file_name_test.cc
  dump/ge_graph_files_test.cc
  dump/ge_graph_find_test.cc
  dump/graph_files_test.cc
  dump/model_tree_test.cc
  dump/operator_log_test.cc
  dump/rank_tree_test.cc
  dump/tensor_names_test.cc
  dump/trees_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  capture/graph_recorder.cc
  capture/job.cc
  capture/pipeline.cc
  capture/reuse_table.cc
  capture/session.cc
  capture/session_graph.cc
  capture/session_take.cc
  capture/session_write.cc
)
set(OPDUMP_TESTS_capture
  capture/graph_recorder_test.cc
  capture/pipeline_test.cc
  capture/session_graph_test.cc
  capture/session_modes_test.cc
  capture/session_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  compare/accuracy.cc
  compare/compare.cc
  compare/measure.cc
  compare/names.cc
  compare/pairing.cc
  compare/share.cc
  compare/statistics.cc
  compare/tasks.cc
  compare/verdict.cc
)
set(OPDUMP_TESTS_compare
  compare/accuracy_test.cc
  compare/compare_test.cc
  compare/pairing_test.cc
  compare/statistics_test.cc
  compare/verdict_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  report/csv.cc
  report/jsonl.cc
  report/summary.cc
  report/table.cc
)
set(OPDUMP_TESTS_report report/report_test.cc)

# Doors, not part of the core.
set(OPDUMP_ABI_SOURCES
  abi/h5.cc
  abi/opdump.cc
)
set(OPDUMP_CLI_SOURCES
  cli/argparse.cc
  cli/arguments.cc
  cli/array_file.cc
  cli/array_layout.cc
  cli/array_pieces.cc
  cli/compare.cc
  cli/graph.cc
  cli/graph_convert.cc
  cli/graph_find.cc
  cli/graphs.cc
  cli/ir.cc
  cli/ls.cc
  cli/main.cc
  cli/model_inputs.cc
  cli/msaccucmp.cc
  cli/msaccucmp_convert.cc
  cli/msaccucmp_cut.cc
  cli/msaccucmp_dump.cc
  cli/msaccucmp_file.cc
  cli/msaccucmp_file_compare.cc
  cli/msaccucmp_overflow.cc
  cli/msaccucmp_paths.cc
  cli/msaccucmp_tensor.cc
  cli/numpy_text.cc
  cli/output.cc
  cli/plan.cc
  cli/progress.cc
  cli/python_plugin.cc
  cli/run.cc
  cli/run_config.cc
  cli/select.cc
  cli/show.cc
  cli/slot_facts.cc
  cli/source_lines.cc
  cli/values.cc
  cli/verbs.cc
  group/group.cc
  group/mpi.cc
)

set(OPDUMP_TEST_FOLDERS base model math plan dialect format dump capture compare report)
