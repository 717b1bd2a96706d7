#include "msaccucmp/read/operator_files.h"

#include <functional>

#include "base/concat.h"
#include "base/packing.h"

namespace opdump::msaccucmp {
namespace {

constexpr std::uint64_t kFilesOfBucket = 8;

std::uint64_t hash_of(std::string_view key) { return std::hash<std::string_view>()(key); }

}  // namespace

void FilesByOperator::add(const File& file) {
  record_.clear();
  SortKey key(record_);
  key.number(hash_of(file.key)).text(file.key).number(file.slice).number(file.time_us).number(added_.size());
  key.number(static_cast<std::uint64_t>(file.mode));
  added_.add(record_.append(file.name));
}

// Keeps files that come by operator.
class FilesByOperator::Grouper {
 public:
  explicit Grouper(FilesByOperator& files) : files_(files) {}

  Result<> add(std::string_view record) {
    SortKeyReader in(record);
    const std::uint64_t hash = in.number();
    std::string key = in.text();
    if (names_.empty() || key != key_) {
      OPDUMP_CHECK_OK(finish());
      hash_ = hash;
      key_ = std::move(key);
      first_file_ = last_file_ = UINT64_MAX;
    }
    in.number();
    time_us_ = in.number();
    const std::uint64_t number = in.number(), mode = in.number();
    if (first_file_ == UINT64_MAX || number < first_file_) first_file_ = number;
    if (last_file_ == UINT64_MAX || number > last_file_) {
      last_file_ = number;
      mode_ = mode;
    }
    Packer(names_).text(in.rest());
    return ok();
  }

  // When all files of an operator are there.
  Result<> finish() {
    if (names_.empty()) return ok();
    OPDUMP_CHECK_OK(files_.begin_bucket(files_.bucket_of(hash_)));
    std::string size, entry;
    Packer out(entry);
    out.text(key_);
    out.number(first_file_);
    out.number(time_us_);
    out.number(mode_);
    Packer(size).number(entry.size() + names_.size());
    files_.kept_.append(size);
    files_.kept_.append(entry);
    files_.kept_.append(names_);
    if (first_file_ == 0) files_.first_path_ = concat({files_.directory_, "/", Unpacker(names_).text()});
    names_.clear();
    return ok();
  }

 private:
  FilesByOperator& files_;
  std::string key_, names_;  // of the operator; no names: there is none
  std::uint64_t hash_ = 0, first_file_ = 0, last_file_ = 0, time_us_ = 0, mode_ = 0;
};

Result<> FilesByOperator::finish() {
  bucket_count_ = added_.size() / kFilesOfBucket + 1;
  Grouper grouper(*this);
  OPDUMP_CHECK_OK(added_.visit([&](std::string_view file) { return grouper.add(file); }));
  OPDUMP_CHECK_OK(grouper.finish());
  added_ = RecordSorter();
  return begin_bucket(bucket_count_);
}

std::size_t FilesByOperator::bucket_of(std::uint64_t hash) const {
  return static_cast<std::size_t>((hash >> 32) * bucket_count_ >> 32);
}

Result<> FilesByOperator::begin_bucket(std::size_t bucket) {
  while (buckets_.size() <= bucket) OPDUMP_CHECK_OK(buckets_.push_back(kept_.size()));
  return ok();
}

Result<std::string> FilesByOperator::read(Span place) const {
  std::string bytes(place.bytes, '\0');
  OPDUMP_CHECK_OK(kept_.read(place.at, bytes));
  return bytes;
}

FilesByOperator::Span FilesByOperator::bucket(std::size_t number) const {
  return {buckets_[number], buckets_[number + 1] - buckets_[number]};
}

FilesByOperator::Record FilesByOperator::unpack(std::string_view bytes) {
  Unpacker in(bytes);
  Record entry;
  entry.key = in.text();
  entry.first_file = in.number();
  entry.time_us = in.number();
  entry.mode = static_cast<TaskMode>(in.number());
  entry.names = bytes.substr(bytes.size() - in.left());
  return entry;
}

OperatorFiles FilesByOperator::files_of(const Record& entry) const {
  OperatorFiles files{std::string(entry.key), {}, entry.mode, entry.time_us};
  for (Unpacker in(entry.names); !in.is_empty();) files.paths.push_back(concat({directory_, "/", in.text()}));
  return files;
}

Result<std::optional<OperatorFiles>> FilesByOperator::find(std::string_view key) const {
  if (buckets_.empty()) return std::optional<OperatorFiles>();
  OPDUMP_TRY(const std::string bytes, read(bucket(bucket_of(hash_of(key)))));
  for (Unpacker in(bytes); !in.is_empty();)
    if (const Record entry = unpack(in.text()); entry.key == key) return std::optional(files_of(entry));
  return std::optional<OperatorFiles>();
}

Result<OperatorFiles> FilesByOperator::at(Span place) const {
  OPDUMP_TRY(const std::string bytes, read(place));
  return files_of(unpack(bytes));
}

Result<bool> FilesByOperator::Reader::next() {
  while (next_entry_ == bytes_.size()) {
    if (next_bucket_ == files_->bucket_count_) return false;
    bucket_ = files_->bucket(next_bucket_++);
    OPDUMP_TRY(bytes_, files_->read(bucket_));
    next_entry_ = 0;
  }
  Unpacker in(std::string_view(bytes_).substr(next_entry_));
  const std::string_view entry = in.text();
  next_entry_ = bytes_.size() - in.left();
  place_ = {bucket_.at + next_entry_ - entry.size(), entry.size()};
  entry_ = unpack(entry);
  hash_ = hash_of(entry_.key);
  return true;
}

}  // namespace opdump::msaccucmp
