# Sources of one folder that are compiled together, up to 8 at once. Not among them: SIMD files, which include themselves for
# each instruction set, and sources with a name of their own that another one of the folder has, too (a format's kMagic).
set(OPDUMP_NO_UNITY
  src/format/graphs/ge/ge_schema.cc src/format/tensors/npy.cc src/format/tensors/npz.cc src/format/tensors/onnx_tensor.cc
  src/format/tensors/op_debug_text.cc src/format/tensors/polygraphy.cc src/format/tensors/safetensors.cc src/format/tensors/tlv_dump.cc)
set(OPDUMP_UNITY_FOLDERS
  base base/file base/process base/text model plan dialect math/layout
  format/tensors format/graphs format/graphs/ge format/tables dump dump/write dump/write/folder dump/read dump/read/files
  capture capture/graph capture/jobs group compare compare/facts compare/judge compare/measure compare/measure/sharded compare/pairs compare/pairs/across compare/pairs/frame
  compare/pairs/quantised compare/pairs/rows compare/pairs/sharded compare/rules compare/rules/accuse compare/rules/explain compare/rules/gains compare/rules/leave_out compare/rules/rounding compare/rules/same compare/wiring report result serve terminal arrays blame
  msaccucmp msaccucmp/convert msaccucmp/judge msaccucmp/plugins msaccucmp/read msaccucmp/verbs msaccucmp/write
  weights weights/judge weights/match weights/read
  cli cli/compare cli/convert cli/diff cli/graph cli/ls cli/record cli/watch cli/weights)

function(opdump_group_sources)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    string(REGEX REPLACE "^src/" "" folder "${folder}")
    if(NOT folder IN_LIST OPDUMP_UNITY_FOLDERS OR source IN_LIST OPDUMP_NO_UNITY)
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${folder}" name)
    if(NOT DEFINED count_${name})
      set(count_${name} 0)
    endif()
    math(EXPR number "${count_${name}} / 8")
    math(EXPR count_${name} "${count_${name}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${number})
  endforeach()
endfunction()
