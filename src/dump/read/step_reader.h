// One directory with files of a dump, read: a step of a tree, or any folder of tensors. Tensor files,
// mapping.csv and tables of statistics are brought together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dump/read/dump_set.h"
#include "dump/read/files/container_files.h"
#include "dump/read/files/file_names.h"
#include "dump/read/files/fingerprint_rows.h"
#include "dump/read/slots_by_operator.h"

namespace opdump::dump {

// The regular files of a step directory that may matter here.
struct StepFiles {
  std::filesystem::path directory;
  FileNames names;
  // Operators that are named by their files have this in front of their names: "block1/". Nothing in a tree
  // whose files have names that say more: others are then a problem.
  std::optional<std::string> prefix;
  // The user has asked for this file: it is looked into, whatever it is called.
  bool is_alone = false;
  FingerprintFiles* followed = nullptr;  // what is known of files that may have grown
  std::filesystem::path mapping{};       // the directory's mapping.csv, if it is not among `names`
};

// .npy files are recognised by their names only: whether they hold what their header says is not looked at
// (see check_tensor_files). A file and a row are the same slot if type, name, side, index and timestamp
// agree. Slots go to `store`. `take` receives executions whose ranks, graphs and steps count from
// those of the directory. `take_overflow` receives records of overflows, also without rank, graph and step;
// `take_status` how each file that is a recording of its own ended. Appends to `problems`.
using TakeOverflow = std::function<void(Overflow overflow)>;
void read_step(StepFiles files, SlotStore& store, Problems& problems, const TakeExecution& take,
               const TakeOverflow& take_overflow, const TakeStatus& take_status);

// Reads the header of every .npy file among `slots`, on several threads if they are many. Fills in shapes
// that no row has. A slot whose file is torn or no tensor loses it and, unless it has statistics, says so in
// undumped_reason. Appends to `problems`.
void check_tensor_files(SlotStore& store, std::span<const std::uint32_t> slots, Problems& problems);

}  // namespace opdump::dump
