// One step directory, read: its tensor files, mapping.csv and statistic.csv brought together.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "dump/dump_set.h"

namespace opdump::dump {

// The regular files of a step directory that may matter here.
struct StepFiles {
  std::filesystem::path directory;
  std::vector<std::string> names;
};

// True for names that make a directory a step directory.
bool is_dump_file(std::string_view name);

// What one step holds, without rank, graph and step.
struct StepContent {
  std::vector<OperatorRun> runs;  // each execution apart
  std::vector<Overflow> overflows;
};

// .npy files are told by their names only: whether they hold what their header says is not looked at (see
// check_tensor_files). A file and a row are the same slot if type, name, side, index and timestamp agree.
// Appends to `problems`.
StepContent read_step(const StepFiles& files, std::vector<Problem>& problems);

// Reads the header of every .npy file, on several threads if they are many. Fills in shapes that no row
// told. A slot whose file is torn or no tensor loses it and, unless it has statistics, says so in
// undumped_reason. Appends to `problems`.
void check_tensor_files(std::span<OperatorRun> runs, std::vector<Problem>& problems);

}  // namespace opdump::dump
