// Many dump files converted at once, by threads and by the processes that mpirun has started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/record_sorter.h"
#include "base/result.h"
#include "base/scratch_vector.h"
#include "base/text_blocks.h"
#include "msaccucmp/convert/dump_file.h"
#include "msaccucmp/failure.h"

namespace opdump::msaccucmp {

// The files of a conversion by number. There can be millions: they are put in order outside of memory, and
// little more than their names is kept.
class FileList {
 public:
  // What is added lies in `folder`; "" for whole paths.
  explicit FileList(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  // Errors: limit -- names of more than 4 GiB; io.
  Result<> add(std::string_view name);
  // By name.
  Result<> add_sorted(RecordSorter names);
  std::size_t size() const { return places_.size(); }
  bool is_listed() const { return folder_.empty(); }  // by the user, who gave them an order
  std::filesystem::path at(std::size_t i) const { return folder_ / names_.at(places_[i]); }

 private:
  std::filesystem::path folder_;
  TextBlocks names_;
  ScratchVector<std::uint32_t> places_;  // in names_
};

// Converts them all, says how far it is out of `total`, and notes failures in the list of them. Returns the
// commonest failure of a folder, and the first one of a list.
Status convert_files(const ConvertOptions& options, const FileList& files, std::size_t total);

// Larger files are converted one by one, each by all threads.
inline constexpr std::uint64_t kBigFile = 32 << 20;

}  // namespace opdump::msaccucmp
