#include "msaccucmp/failure.h"

#include <cstring>

namespace opdump::msaccucmp {
namespace {

using Length = std::uint64_t;

constexpr std::size_t kHead = 1 + sizeof(Length);  // of a line that is put aside

Result<Journal::Line> read_line(const Spill& from, std::uint64_t& at) {
  char head[kHead];
  OPDUMP_CHECK_OK(from.read(at, head));
  Length length = 0;
  std::memcpy(&length, head + 1, sizeof length);
  Journal::Line line{static_cast<Journal::Severity>(head[0]), std::string(length, '\0')};
  OPDUMP_CHECK_OK(from.read(at + kHead, line.text));
  at += kHead + length;
  return line;
}

}  // namespace

void Journal::put_aside() {
  if (aside_ == nullptr) aside_ = std::make_unique<Spill>();
  for (const Line& line : lines_) {
    char head[kHead] = {static_cast<char>(line.severity)};
    const Length length = line.text.size();
    std::memcpy(head + 1, &length, sizeof length);
    aside_->append({head, kHead});
    aside_->append(line.text);
  }
  lines_.clear();
}

void Journal::visit(const std::function<void(const Line&)>& look) const {
  for (std::uint64_t at = 0; aside_ != nullptr && at < aside_->size();) {
    const auto line = read_line(*aside_, at);
    look(line ? *line : Line{Severity::error, line.error().message()});
    if (!line) break;
  }
  for (const Line& line : lines_) look(line);
}

}  // namespace opdump::msaccucmp
