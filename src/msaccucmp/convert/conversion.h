// Many dump files converted at once, by threads and by the processes that mpirun has started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text_arena.h"
#include "msaccucmp/convert/dump_file.h"
#include "msaccucmp/failure.h"

namespace opdump::msaccucmp {

// The files of a conversion by number. There can be millions: little more than their names is kept.
class FileList {
 public:
  // What is added lies in `folder`; "" for whole paths.
  explicit FileList(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  void add(std::string_view name) { names_.push_back(TextArena::view(texts_.add(name))); }
  void sort();  // by name
  std::size_t size() const { return names_.size(); }
  bool is_listed() const { return folder_.empty(); }  // by the user, who gave them an order
  std::filesystem::path at(std::size_t i) const { return folder_ / names_[i]; }

 private:
  std::filesystem::path folder_;
  TextArena texts_;
  std::vector<std::string_view> names_;
};

// Converts them all, says how far it is out of `total`, and notes failures in the list of them. Returns the
// commonest failure of a folder, and the first one of a list.
Status convert_files(const ConvertOptions& options, const FileList& files, std::size_t total);

// Larger files are converted one by one, each by all threads.
inline constexpr std::uint64_t kBigFile = 32 << 20;

}  // namespace opdump::msaccucmp
