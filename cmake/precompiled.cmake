# Headers that most sources include. Each source still names what it uses: the presets that check build without these.
set(OPDUMP_PRECOMPILED
  <algorithm> <array> <atomic> <charconv> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory> <mutex>
  <numeric> <optional> <set> <span> <string> <string_view> <thread> <tuple> <unordered_map> <vector> <nlohmann/json.hpp>)

function(opdump_precompile target)
  target_precompile_headers(${target} ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc 12 warns of its own std::string once it comes from a precompiled header; the other presets keep the warnings.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()
opdump_precompile(opdump_core PRIVATE ${OPDUMP_PRECOMPILED})
opdump_precompile(opdump_tool PRIVATE ${OPDUMP_PRECOMPILED} <CLI/CLI.hpp>)
foreach(target opdump opdump_read onnx_adapter)
  if(TARGET ${target})  # gcc takes the header only for what is compiled as the core is
    opdump_precompile(${target} REUSE_FROM opdump_core)
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:opdump_core,COMPILE_DEFINITIONS>)
    target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:opdump_core,COMPILE_OPTIONS>)
  endif()
endforeach()

# The programs of unit tests are compiled alike, so one precompiled header serves all; but for math_test, which is optimised.
function(opdump_precompile_test target)
  if(target STREQUAL "math_test")
    opdump_precompile(${target} PRIVATE ${OPDUMP_PRECOMPILED} <gmock/gmock.h> <gtest/gtest.h>)
  elseif(DEFINED OPDUMP_FIRST_TEST)
    opdump_precompile(${target} REUSE_FROM ${OPDUMP_FIRST_TEST})
  else()
    set(OPDUMP_FIRST_TEST ${target} PARENT_SCOPE)
    opdump_precompile(${target} PRIVATE ${OPDUMP_PRECOMPILED} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
endfunction()
