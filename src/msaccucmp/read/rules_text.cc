#include "msaccucmp/read/rules_text.h"

#include <cstdint>
#include <filesystem>
#include <system_error>

namespace opdump::msaccucmp {

Result<RulesText> RulesText::read(const std::string& path) {
  constexpr std::uint64_t kLeastMapped = 1 << 20, kMost = 1 << 30;
  RulesText made;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size <= kLeastMapped || size > kMost) {
    OPDUMP_TRY(made.text_, read_file(path, kMost));
  } else {
    OPDUMP_TRY(made.file_, MappedFile::open(path));
  }
  return made;
}

std::string_view RulesText::text() const {
  if (!file_) return text_;
  return {reinterpret_cast<const char*>(file_->bytes().data()), file_->bytes().size()};
}

}  // namespace opdump::msaccucmp
