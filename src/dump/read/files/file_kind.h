// What a file of a dump is: recognised by its name in a directory, by its content if it was given by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "dump/file_name.h"

namespace opdump::dump {

inline constexpr std::string_view kNpyExtension = ".npy";
// What msprobe writes of a step, and the directory of its tensors.
inline constexpr std::string_view kMsprobeDump = "dump.json", kMsprobeDebug = "debug.json";
inline constexpr std::string_view kMsprobeData = "dump_tensor_data";

enum class FileKind : std::uint8_t {
  none,
  npy,
  npz,
  safetensors,
  h5,
  onnx,           // input_0.pb, output_0.pb
  torch,          // of torch.save
  msprobe,        // the index of a step of msprobe
  polygraphy,     // results of runners
  debug_mode,     // the log of PyTorch's DebugMode
  fingerprints,   // statistics and hashes of all steps of a rank
  op_statistics,  // the table of one execution
  legacy,         // raw elements, described by the name
  call,           // all tensors of an execution, or the record of an overflow
};

FileKind find_kind(std::string_view name);

// Whether the file, of a name that says nothing, is the log of DebugMode: these may have any name that ends
// in .json.
bool is_debug_mode_file(const std::filesystem::path& path);

// Finds the kind by the first bytes of the file, and by `name` where these do not suffice.
FileKind sniff_kind(const std::filesystem::path& path, std::string_view name);

// The name of an execution's file, also where ".output.0.json" says that it is an overflow as JSON.
std::optional<CallName> find_call_name(std::string_view name);

// N of "{N in ten digits}.json": Polygraphy's results of an iteration.
std::optional<std::int64_t> find_iteration(std::string_view name);

// True for the overflow record's type and name.
bool is_overflow_record(const CallName& name);

// `name` without ".csv".
std::string_view without_csv(std::string_view name);

}  // namespace opdump::dump
