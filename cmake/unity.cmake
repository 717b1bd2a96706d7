# Sources of one folder that are compiled together, up to 8 at once. Not among them: SIMD files, which include themselves for
# each instruction set, and folders whose files have constants of the same name (kMagic in every file format).
set(OPDUMP_UNITY_FOLDERS
  model plan dialect format/graphs format/graphs/ge format/tables dump dump/write dump/write/folder dump/read dump/read/files
  capture capture/graph capture/jobs group compare report result terminal arrays
  msaccucmp msaccucmp/convert msaccucmp/judge msaccucmp/plugins msaccucmp/read msaccucmp/verbs msaccucmp/write
  cli cli/compare cli/convert cli/graph cli/record)

function(opdump_group_sources)
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    string(REGEX REPLACE "^src/" "" folder "${folder}")
    if(NOT folder IN_LIST OPDUMP_UNITY_FOLDERS OR source STREQUAL src/format/graphs/ge/ge_schema.cc)
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
