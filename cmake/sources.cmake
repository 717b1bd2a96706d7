# Every file is listed: a build must not depend on what happens to lie in a folder. Paths are relative to src/.
# Folders in the order of their layers; each has its sources and its tests (one test program for each folder).
set(OPDUMP_CORE_SOURCES)
set(OPDUMP_TOOL_SOURCES)

list(APPEND OPDUMP_CORE_SOURCES
  base/process/connected_child.cc
  base/file/content.cc
  base/divide.cc
  base/text/expansion.cc
  base/file/fd.cc
  base/file/file.cc
  base/file/file_copy.cc
  base/file/file_replacement.cc
  base/process/isolated.cc
  base/text/json.cc
  base/text/natural_order.cc
  base/file/kept_file.cc
  base/process/launcher.cc
  base/process/line_server.cc
  base/file/map_room.cc
  base/file/nameless_file.cc
  base/text/packed_texts.cc
  base/text/printable.cc
  base/file/resident.cc
  base/file/scratch.cc
  base/text/text.cc
  base/text/text_arena.cc
  base/text/utf8.cc
  base/worker_pool.cc
)
set(OPDUMP_TESTS_base
  base/base_test.cc
  base/divide_test.cc
  base/text/expansion_test.cc
  base/text/natural_order_test.cc
  base/process/isolated_test.cc
  base/file/kept_file_test.cc
  base/process/line_server_test.cc
  base/text/printable_test.cc
  base/file/resident_test.cc
  base/file/scratch_test.cc
  base/text/text_arena_test.cc
  base/worker_pool_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  model/dtype.cc
  model/format.cc
  model/frame.cc
  model/operator.cc
  model/shape.cc
  model/tensor_view.cc
)
set(OPDUMP_TESTS_model model/model_test.cc)

list(APPEND OPDUMP_CORE_SOURCES
  math/convert.cc
  math/hash.cc
  math/memory_walk.cc
  math/simd_targets.cc
  math/small_floats.cc
  math/layout/box_copy.cc
  math/layout/device_layout.cc
  math/layout/layout_boxes.cc
  math/layout/layout_parts.cc
  math/layout/layout_plan.cc
  math/layout/layout_table.cc
  math/layout/strided_copy.cc
  math/layout/transpose.cc
  math/metrics/error_details.cc
  math/metrics/metrics.cc
  math/metrics/metrics_kernels.cc
  math/metrics/metrics_reference.cc
  math/metrics/numpy_divergence_kernel.cc
  math/metrics/numpy_metrics.cc
  math/metrics/numpy_metrics_kernels.cc
  math/stats/stats.cc
  math/stats/stats_kernels.cc
  math/stats/stats_reference.cc
)
set(OPDUMP_TESTS_math
  math/memory_test.cc
  math/small_floats_test.cc
  math/layout/box_copy_test.cc
  math/layout/device_layout_cann_test.cc
  math/layout/device_layout_test.cc
  math/metrics/error_details_test.cc
  math/metrics/metrics_test.cc
  math/metrics/numpy_metrics_test.cc
  math/stats/stats_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  plan/describe.cc
  plan/dump_plan.cc
  plan/model_selector.cc
  plan/op_selector.cc
  plan/step_set.cc
)
set(OPDUMP_TESTS_plan
  plan/dump_plan_test.cc
  plan/model_selector_test.cc
  plan/op_selector_test.cc
  plan/step_set_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  dialect/acl.cc
  dialect/acl_list.cc
  dialect/acl_path.cc
  dialect/acl_types.cc
  dialect/dialects.cc
  dialect/json_section.cc
  dialect/mindspore.cc
  dialect/mindspore_common.cc
  dialect/mindspore_effects.cc
  dialect/mindspore_text.cc
  dialect/opdump_settings.cc
  dialect/options.cc
  dialect/request.cc
)
set(OPDUMP_TESTS_dialect
  dialect/acl_test.cc
  dialect/acl_vectors_test.cc
  dialect/dialects_test.cc
  dialect/mindspore_places_test.cc
  dialect/mindspore_plan_test.cc
  dialect/mindspore_rules_test.cc
  dialect/mindspore_text_test.cc
  dialect/request_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  format/graphs/execution_order.cc
  format/graphs/fusion_json.cc
  format/graphs/ge/ge_build.cc
  format/graphs/ge/ge_graph.cc
  format/graphs/ge/ge_onnx.cc
  format/graphs/ge/ge_ops.cc
  format/graphs/ge/ge_readable.cc
  format/graphs/ge/ge_schema.cc
  format/graphs/graph_ir_read.cc
  format/graphs/graph_ir_write.cc
  format/graphs/graph_pb_read.cc
  format/graphs/graph_pb_write.cc
  format/graphs/graph_proto.cc
  format/graphs/graph_rows.cc
  format/graphs/ir_text.cc
  format/graphs/json_pieces.cc
  format/graphs/proto_text.cc
  format/tables/acl_statistic_csv.cc
  format/tables/mapping_csv.cc
  format/tables/op_statistic_csv.cc
  format/tables/statistic_csv.cc
  format/tensors/dump_data.cc
  format/tensors/dump_names.cc
  format/tensors/h5_library.cc
  format/tensors/h5_read.cc
  format/tensors/h5_types.cc
  format/tensors/h5_write.cc
  format/tensors/npy.cc
  format/tensors/npz.cc
  format/tensors/onnx_tensor.cc
  format/tensors/op_debug.cc
  format/tensors/op_debug_text.cc
  format/tensors/safetensors.cc
  format/tensors/tlv_dump.cc
  format/tensors/torch_file.cc
  format/tensors/write_behind.cc
  format/tensors/zip_writer.cc
)
set(OPDUMP_TESTS_format
  format/graphs/execution_order_test.cc
  format/graphs/fusion_json_test.cc
  format/graphs/ge/ge_build_test.cc
  format/graphs/ge/ge_graph_test.cc
  format/graphs/ge/ge_readable_test.cc
  format/graphs/graph_ir_test.cc
  format/graphs/graph_pb_test.cc
  format/graphs/json_pieces_test.cc
  format/graphs/proto_text_test.cc
  format/tables/acl_statistic_csv_test.cc
  format/tables/mapping_csv_test.cc
  format/tables/op_statistic_csv_test.cc
  format/tables/statistic_csv_test.cc
  format/tensors/dump_data_test.cc
  format/tensors/h5_test.cc
  format/tensors/npy_test.cc
  format/tensors/op_debug_test.cc
  format/tensors/op_debug_text_test.cc
  format/tensors/safetensors_test.cc
  format/tensors/tlv_dump_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  dump/file_name.cc
  dump/operator_log.cc
  dump/status_file.cc
  dump/tensor_names.cc
  dump/read/files/call_file.cc
  dump/read/files/container_files.cc
  dump/read/files/directory_walk.cc
  dump/read/dump_set_reader.cc
  dump/read/files/file_kind.cc
  dump/read/files/file_names.cc
  dump/read/ge_graph_find.cc
  dump/read/log_index.cc
  dump/read/log_join.cc
  dump/read/networks.cc
  dump/read/operator_run.cc
  dump/read/runs.cc
  dump/read/files/slot_file.cc
  dump/read/slot_store.cc
  dump/read/slots_by_operator.cc
  dump/read/step_reader.cc
  dump/read/files/stored_tensor.cc
  dump/read/tree_location.cc
  dump/write/acl_tree.cc
  dump/write/arguments_file.cc
  dump/write/budget.cc
  dump/write/call_data.cc
  dump/write/device_memory.cc
  dump/write/folder/existing_dump.cc
  dump/write/ge_graph_files.cc
  dump/write/graph_files.cc
  dump/write/scheme_writer.cc
  dump/write/model_tree.cc
  dump/write/npy_file.cc
  dump/write/rank_tree.cc
  dump/write/folder/recording_folder.cc
  dump/write/run_metadata.cc
  dump/write/statistic_tables.cc
  dump/write/step_directories.cc
  dump/write/tensor_stream.cc
  dump/write/tree_file.cc
)
set(OPDUMP_TESTS_dump
  dump/file_name_test.cc
  dump/operator_log_test.cc
  dump/tensor_names_test.cc
  dump/read/dump_set_test.cc
  dump/read/ge_graph_find_test.cc
  dump/read/runs_test.cc
  dump/read/slots_by_operator_test.cc
  dump/read/trees_test.cc
  dump/write/acl_tree_test.cc
  dump/write/budget_test.cc
  dump/write/ge_graph_files_test.cc
  dump/write/graph_files_test.cc
  dump/write/model_tree_test.cc
  dump/write/rank_tree_test.cc
  dump/write/folder/recording_folder_test.cc
  dump/write/tensor_stream_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  capture/call_queue.cc
  capture/call_recorder.cc
  capture/graph/footprint.cc
  capture/graph/graph_recorder.cc
  capture/graph/step_graphs.cc
  capture/jobs/job.cc
  capture/jobs/pipeline.cc
  capture/jobs/reuse_table.cc
  capture/operator_table.cc
  capture/overflow_check.cc
  capture/read_check.cc
  capture/recording_rules.cc
  capture/recording_start.cc
  capture/recording_writer.cc
  capture/run_identity.cc
  capture/session.cc
  capture/step_room.cc
  capture/tensor_forms.cc
  capture/watcher.cc
)
set(OPDUMP_TESTS_capture
  capture/call_queue_test.cc
  capture/call_recorder_test.cc
  capture/graph/footprint_test.cc
  capture/graph/graph_recorder_test.cc
  capture/graph/step_graphs_test.cc
  capture/jobs/container_job_test.cc
  capture/jobs/pipeline_test.cc
  capture/operator_table_test.cc
  capture/recording_writer_test.cc
  capture/session_acl_test.cc
  capture/session_directory_test.cc
  capture/session_graph_test.cc
  capture/session_modes_test.cc
  capture/session_test.cc
  capture/step_room_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  group/group.cc
  group/mpi.cc
  group/shared_work.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  compare/across/data_flow.cc
  compare/across/matching.cc
  compare/across/operator_kind.cc
  compare/across/pair_across.cc
  compare/across/tensor_layout.cc
  compare/across/tensor_print.cc
  compare/arguments.cc
  compare/compare.cc
  compare/conditioning.cc
  compare/content.cc
  compare/equivalence.cc
  compare/measure.cc
  compare/names.cc
  compare/packed_result.cc
  compare/pairing.cc
  compare/regions.cc
  compare/share.cc
  compare/statistics.cc
  compare/systematic.cc
  compare/tasks.cc
  compare/key_slots.cc
  compare/verdict.cc
)
set(OPDUMP_TESTS_compare
  compare/across/operator_kind_test.cc
  compare/across/pair_across_test.cc
  compare/across/tensor_layout_test.cc
  compare/compare_test.cc
  compare/conditioning_test.cc
  compare/content_test.cc
  compare/equivalence_test.cc
  compare/pairing_test.cc
  compare/statistics_test.cc
  compare/systematic_test.cc
  compare/verdict_test.cc
)

list(APPEND OPDUMP_CORE_SOURCES
  report/csv.cc
  report/jsonl.cc
  report/module_table.cc
  report/summary.cc
  report/table.cc
)
set(OPDUMP_TESTS_report report/report_test.cc)

list(APPEND OPDUMP_TOOL_SOURCES
  blame/blame.cc
  blame/calibrate.cc
  blame/evidence.cc
  blame/report.cc
  blame/request.cc
)
set(OPDUMP_TESTS_blame
  blame/evidence_test.cc
  blame/request_test.cc
)
# Results in SQLite, and what is made of them.
list(APPEND OPDUMP_TOOL_SOURCES
  result/dead_units.cc
  result/exports.cc
  result/graph_tables.cc
  result/overview.cc
  result/overview_json.cc
  result/page.cc
  result/query.cc
  result/schema.cc
  result/writer.cc
)
set(OPDUMP_TESTS_result result/dead_units_test.cc result/overview_test.cc result/result_test.cc)

list(APPEND OPDUMP_TOOL_SOURCES serve/max_grid.cc serve/tiles.cc)
set(OPDUMP_TESTS_serve serve/max_grid_test.cc)

# Of which the pages are built.
set(OPDUMP_WEB_SOURCES
  index.html package.json package-lock.json tsconfig.json vite.config.js src/common.tsx src/curve.tsx src/data.ts src/elements.tsx src/format.ts
  src/graph.tsx src/header.tsx src/judge.ts src/main.tsx src/modules.tsx src/operator.tsx src/ranks.tsx src/store.ts src/style.css src/table.tsx)

# The programs' own: linked by nothing that records or that Python loads.
list(APPEND OPDUMP_TOOL_SOURCES
  terminal/output.cc
  terminal/pager.cc
  terminal/progress.cc
)

list(APPEND OPDUMP_TOOL_SOURCES
  arrays/file.cc
  arrays/layout.cc
  arrays/numpy_text.cc
  arrays/pieces.cc
  arrays/text.cc
)

list(APPEND OPDUMP_TOOL_SOURCES
  msaccucmp/log.cc
  msaccucmp/paths.cc
  msaccucmp/python_text.cc
  msaccucmp/shape_text.cc
  msaccucmp/convert/conversion.cc
  msaccucmp/convert/cut.cc
  msaccucmp/convert/dump_file.cc
  msaccucmp/convert/format_change.cc
  msaccucmp/convert/shapes.cc
  msaccucmp/convert/thread_shapes.cc
  msaccucmp/convert/wrong_filters.cc
  msaccucmp/judge/accuracy.cc
  msaccucmp/judge/algorithms.cc
  msaccucmp/judge/counterpart.cc
  msaccucmp/judge/element_errors.cc
  msaccucmp/judge/fusion_merge.cc
  msaccucmp/judge/fusion_rules.cc
  msaccucmp/judge/group_compare.cc
  msaccucmp/judge/layout_change.cc
  msaccucmp/judge/layout_match.cc
  msaccucmp/judge/npu_compare.cc
  msaccucmp/judge/overflow.cc
  msaccucmp/judge/quant_filter.cc
  msaccucmp/judge/result_table.cc
  msaccucmp/judge/slices.cc
  msaccucmp/plugins/algorithm_plugin.cc
  msaccucmp/plugins/python_plugin.cc
  msaccucmp/plugins/python_process.cc
  msaccucmp/read/dump.cc
  msaccucmp/read/dump_folder.cc
  msaccucmp/read/dump_header.cc
  msaccucmp/read/dumped_tensor.cc
  msaccucmp/read/file_times.cc
  msaccucmp/read/operator_files.cc
  msaccucmp/read/rules_text.cc
  msaccucmp/read/torch_dump.cc
  msaccucmp/verbs/argparse.cc
  msaccucmp/verbs/compare.cc
  msaccucmp/verbs/compare_arguments.cc
  msaccucmp/verbs/compare_arrays.cc
  msaccucmp/verbs/compare_batch.cc
  msaccucmp/verbs/compare_choice.cc
  msaccucmp/verbs/compare_folders.cc
  msaccucmp/verbs/compare_h5.cc
  msaccucmp/verbs/compare_setup.cc
  msaccucmp/verbs/compare_single.cc
  msaccucmp/verbs/compare_work.cc
  msaccucmp/verbs/convert.cc
  msaccucmp/verbs/file_compare.cc
  msaccucmp/verbs/msaccucmp.cc
  msaccucmp/verbs/overflow.cc
  msaccucmp/write/advisor.cc
  msaccucmp/write/detail_files.cc
  msaccucmp/write/element_lines.cc
  msaccucmp/write/result_csv.cc
)
set(OPDUMP_TESTS_msaccucmp
  msaccucmp/log_test.cc
  msaccucmp/paths_test.cc
  msaccucmp/python_text_test.cc
  msaccucmp/shape_text_test.cc
  msaccucmp/convert/shapes_test.cc
  msaccucmp/judge/accuracy_test.cc
  msaccucmp/judge/algorithms_test.cc
  msaccucmp/judge/element_errors_test.cc
  msaccucmp/judge/fusion_rules_test.cc
  msaccucmp/judge/layout_change_test.cc
  msaccucmp/judge/npu_compare_test.cc
  msaccucmp/judge/overflow_test.cc
  msaccucmp/read/dump_folder_test.cc
  msaccucmp/read/dump_header_test.cc
  msaccucmp/read/operator_files_test.cc
  msaccucmp/read/torch_dump_test.cc
  msaccucmp/verbs/argparse_test.cc
  msaccucmp/write/detail_files_test.cc
  msaccucmp/write/result_csv_test.cc
)

list(APPEND OPDUMP_TOOL_SOURCES
  cli/arguments.cc
  cli/compare/blame.cc
  cli/compare/compare.cc
  cli/compare/export.cc
  cli/compare/index.cc
  cli/completion.cc
  cli/convert/convert.cc
  cli/convert/convert_item.cc
  cli/convert/convert_log.cc
  cli/convert/convert_plan.cc
  cli/convert/convert_slots.cc
  cli/graph/graph.cc
  cli/graph/graph_convert.cc
  cli/graph/graph_find.cc
  cli/graph/graphs.cc
  cli/graph/ir.cc
  cli/ls.cc
  cli/ls_nan.cc
  cli/ls_tree.cc
  cli/compare/make_result.cc
  cli/record/model_inputs.cc
  cli/record/plan.cc
  cli/python_package.cc
  cli/compare/query.cc
  cli/compare/replay.cc
  cli/compare/report.cc
  cli/compare/reproduce.cc
  cli/record/run.cc
  cli/record/run_config.cc
  cli/select.cc
  cli/show.cc
  cli/show_pair.cc
  cli/slot_facts.cc
  cli/source_lines.cc
  cli/values.cc
  cli/verbs.cc
  cli/compare/view.cc
)

# The C door, not part of the core.
set(OPDUMP_ABI_SOURCES
  abi/arguments.cc
  abi/h5.cc
  abi/opdump.cc
  abi/request.cc
)

set(OPDUMP_TESTS_arrays
  arrays/file_test.cc
  arrays/numpy_text_test.cc
)
set(OPDUMP_TESTS_cli
  cli/record/run_models_missing.cc  # what the program has beside the verbs
  cli/select_test.cc
  cli/source_lines_test.cc
)

set(OPDUMP_TEST_FOLDERS base model math plan dialect format dump capture compare report blame result serve msaccucmp arrays cli)
