#include "msaccucmp/read/operator_files.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "base/text/concat.h"

namespace opdump::msaccucmp {

void FilesByOperator::add(const File& file) {
  const auto number = static_cast<std::uint32_t>(files_.size());
  files_.push_back(
      {texts_.add(file.key), texts_.add(file.name), file.slice, file.time_us, number, file.mode});
}

void FilesByOperator::sort() {
  std::ranges::sort(files_, {}, [](const Kept& file) {
    return std::tuple(key_of(file), file.slice, file.time_us, file.number);
  });
}

std::string FilesByOperator::path_of(const Kept& file) const {
  return concat({directory_, "/", TextArena::view(file.name)});
}

FilesByOperator::Span FilesByOperator::after(Span op) const {
  Span next{op.end, op.end};
  while (next.end < files_.size() && key_of(files_[next.end]) == key_of(files_[next.begin])) ++next.end;
  return next;
}

std::uint32_t FilesByOperator::first_file(Span op) const {
  const auto files = std::span(files_).subspan(op.begin, op.end - op.begin);
  return std::ranges::min_element(files, {}, &Kept::number)->number;
}

std::string FilesByOperator::first_path() const {
  const auto first = std::ranges::find(files_, 0U, &Kept::number);
  if (first == files_.end()) return "";
  return path_of(*std::ranges::lower_bound(files_, key_of(*first), {}, key_of));
}

OperatorFiles FilesByOperator::at(Span op) const {
  const auto kept = std::span(files_).subspan(op.begin, op.end - op.begin);
  const Kept& last = *std::ranges::max_element(kept, {}, &Kept::number);
  OperatorFiles files{std::string(key(op)), {}, last.mode, time_us(op)};
  files.paths.reserve(kept.size());
  for (const Kept& file : kept) files.paths.push_back(path_of(file));
  return files;
}

std::optional<OperatorFiles> FilesByOperator::find(std::string_view key) const {
  const auto found = std::ranges::lower_bound(files_, key, {}, key_of);
  if (found == files_.end() || key_of(*found) != key) return std::nullopt;
  const auto begin = static_cast<std::uint32_t>(found - files_.begin());
  return at(after({begin, begin}));
}

}  // namespace opdump::msaccucmp
