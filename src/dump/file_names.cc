#include "dump/file_names.h"

#include "dump/read/file_kind.h"
#include "format/tables/mapping_csv.h"
#include "format/tables/statistic_csv.h"

namespace opdump::dump {

void FileNames::add(std::string_view name) {
  has_mapping_ = has_mapping_ || name == format::kMappingCsvName;
  has_statistics_ = has_statistics_ || name == format::kStatisticCsvName;
  has_dump_file_ = has_dump_file_ || has_mapping_ || has_statistics_ || find_kind(name) != FileKind::none;
  names_.add(name);
}

void FileNames::add_original(std::string_view name, std::string_view original) {
  originals_.add(name, original);
}

Result<> FileNames::drain(const Take& take) {
  return names_.visit([&](std::string_view record) -> Result<> {
    const std::string name(record);
    OPDUMP_TRY(const std::optional<std::string> original, originals_.find(name));
    take(name, original.value_or(name));
    return ok();
  });
}

}  // namespace opdump::dump
