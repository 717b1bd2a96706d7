#include "dump/read/files/file_names.h"

#include <algorithm>

#include "dump/read/files/file_kind.h"
#include "format/tables/mapping_csv.h"
#include "format/tables/statistic_csv.h"

namespace opdump::dump {

void FileNames::add(std::string_view name, bool is_dump_file) {
  has_mapping_ = has_mapping_ || name == format::kMappingCsvName;
  has_statistics_ = has_statistics_ || name == format::kStatisticCsvName;
  const FileKind kind = find_kind(name);
  has_msprobe_ = has_msprobe_ || kind == FileKind::msprobe;
  has_fingerprints_ = has_fingerprints_ || kind == FileKind::fingerprints;
  has_dump_file_ =
      has_dump_file_ || is_dump_file || has_mapping_ || has_statistics_ || kind != FileKind::none;
  names_.push_back(texts_.add(name));
}

void FileNames::drain(const Take& take) {
  std::ranges::sort(names_, {}, TextArena::view);
  for (const ArenaText text : names_) {
    const std::string_view name = TextArena::view(text);
    take(std::string(name), std::string(originals_.find(name).value_or(name)));
  }
}

}  // namespace opdump::dump
