// The rows of a statistic.csv as slots.
#pragma once

#include <filesystem>

#include "dump/read/problems.h"
#include "dump/read/slots_by_operator.h"

namespace opdump::dump {

// Appends to `problems` if the table, or a row of it, cannot be read.
void add_statistic_rows(const std::filesystem::path& path, SlotsByOperator& slots, Problems& problems);

}  // namespace opdump::dump
