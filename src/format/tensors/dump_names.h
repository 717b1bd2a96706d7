// The numbers that CANN's DumpData message has for element types and memory formats, cann.md 3.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/dtype.h"

namespace opdump::format {

// "FLOAT16" for 2; empty for a number that is not in the table.
std::string_view dump_dtype_name(std::int32_t number);
// The type of the elements; undefined for those we have none for (strings, quantised ones).
model::DType dump_dtype(std::int32_t number);
// 0 ("undefined") for a dtype that the table lacks.
std::int32_t dump_dtype_number(model::DType dtype);

// "NC1HWC0" for 3; empty for a number that is not in the table.
std::string_view dump_format_name(std::int32_t number);
std::optional<std::int32_t> find_dump_format(std::string_view name);

}  // namespace opdump::format
