// The text of a file of rules (-f, -q, -cf): a large one is mapped.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/file/file.h"
#include "base/result.h"

namespace opdump::msaccucmp {

class RulesText {
 public:
  // Errors: not_found; io; limit -- it has more than 1 GiB.
  static Result<RulesText> read(const std::string& path);

  std::string_view text() const;

 private:
  std::string text_;
  std::optional<MappedFile> file_;
};

}  // namespace opdump::msaccucmp
