// Where in a run the files of a directory belong, recognised by the names of the directories that lead to it:
//   (A)     rank_{R}/{net}/{graph}/{step}                                       mindspore.md 2.1
//   (B)     {step}/{14 digits}/{device}[/{net}/{graph}[/{step}]]                mindspore.md 2.9
//   (C)     the same without the first {step}
//   legacy  {net}/device_{N}/iteration_{step}                                   mindspore.md 8b, r1.3
// CANN's tree is (C), of single operators without {net}/{graph}/{step}; TorchAir's is (C) below
// worldsize{W}_global_rank{R}, or worldsize{W}_global_rank{R}/graph_{graph}/{step}      torch_tf_frontends.md
// A.6, A.7. What `opdump convert` makes lies in rank_{R}/graph_{graph}/step_{step}[.npz]. msprobe's lies in
// step{step}/rank{R}, or step{step}/proc{pid}. Test data of ONNX models lies in test_data_set_{step}. Of any
// other folder only numbers are understood.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace opdump::dump {

// At most so many directories lie between a dump's root and its files.
inline constexpr std::size_t kMaxTreeDepth = 6;

enum class Scheme : std::uint8_t { rank_tree, model_tree, time_tree, legacy };

struct Location {
  Scheme scheme = Scheme::rank_tree;
  std::uint32_t rank = 0;  // the device where the scheme knows no rank
  std::int64_t graph_id = 0, step = 0;
  bool constants = false;       // {graph}/constants: of no step
  std::size_t net_length = 0;   // how many of the names lead to the directory of the net; 0: it has none
  std::size_t root_length = 0;  // the same for the dump's root
  bool has_rank = false;        // the rank is one, whatever the scheme
  bool is_process = false;      // the rank is the number of a process
  bool is_tree = false;         // the names are those of a tree, not of any folder
};

// `trail` are the names from the file system's root to the directory itself; those from `first_inside` on are
// below what the user opened: a number above it may be anything.
Location locate(std::span<const std::string> trail, std::size_t first_inside);

// True for YYYYMMDDhhmmss, of when a recording began.
bool is_time(std::string_view directory_name);

// N of "rank_N".
std::optional<std::uint32_t> find_rank(std::string_view directory_name);

}  // namespace opdump::dump
