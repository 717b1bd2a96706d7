#include "dump/file_names.h"

#include "dump/file_kind.h"
#include "format/mapping_csv.h"
#include "format/statistic_csv.h"

namespace opdump::dump {
namespace {

constexpr std::uint64_t kFile = UINT64_MAX;  // in place of when it was told what a file was called

}  // namespace

void FileNames::add(std::string_view name) {
  has_mapping_ = has_mapping_ || name == format::kMappingCsvName;
  has_statistics_ = has_statistics_ || name == format::kStatisticCsvName;
  has_dump_file_ = has_dump_file_ || has_mapping_ || has_statistics_ || find_kind(name) != FileKind::none;
  record_.clear();
  SortKey(record_).text(name).number(kFile);
  names_.add(record_);
}

void FileNames::add_original(std::string_view name, std::string_view original) {
  record_.clear();
  SortKey(record_).text(name).number(names_.size());
  names_.add(record_ += original);
}

Result<> FileNames::drain(const Take& take) {
  std::string told, original;  // last
  return names_.visit([&](std::string_view record) {
    SortKeyReader in(record);
    std::string name = in.text();
    if (in.number() == kFile) {
      take(name, told == name ? original : name);
    } else {
      told = std::move(name);
      original = in.rest();
    }
    return ok();
  });
}

}  // namespace opdump::dump
