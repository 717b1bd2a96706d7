// Puts records in order, of which there may be more than memory has room for: some megabytes are sorted at a
// time and put aside in a file without a name (base/spill.h); reading merges them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/spill.h"

namespace opdump {

// A record is some bytes, and in order as strings are. What it is sorted by stands at its front, written by a
// SortKey, so that the order of bytes is that of the values.
class RecordSorter {
 public:
  class Reader;

  void add(std::string_view record);
  std::uint64_t size() const { return size_; }

  // All records in order, equal ones too. The sorter must stay where it is, and takes no more.
  Reader sorted();
  // Calls take(record) -> Result<> for each in order. Errors: io, and those of `take`.
  template <typename Take>
  Result<> visit(const Take& take);
  // The same, once for equal records.
  template <typename Take>
  Result<> visit_different(const Take& take);

 private:
  struct Place {  // in newest_
    std::uint32_t at = 0, size = 0;
  };
  struct Run {  // in put_aside_: sorted records, each after its size
    std::uint64_t at = 0, end = 0;
  };
  std::string_view record(Place place) const {
    return std::string_view(newest_).substr(place.at, place.size);
  }
  void sort_newest();
  void put_newest_aside();

  std::string newest_;  // records that are not put aside, one behind the other
  std::vector<Place> places_;
  Spill put_aside_;
  std::vector<Run> runs_;
  std::uint64_t size_ = 0;
};

// Takes the records out, one after the other.
class RecordSorter::Reader {
 public:
  // Goes on to the first or the next record; false behind the last one. Errors: io.
  Result<bool> next();
  // Stays until next() is called.
  std::string_view record() const { return sources_[current_].record; }

 private:
  friend class RecordSorter;
  struct Source {
    Run rest;                 // of the run, not yet in `bytes`
    std::string bytes;        // a piece of the run
    std::size_t at = 0;       // in `bytes`, where the next record starts
    std::string_view record;  // the lowest that was not given
  };
  explicit Reader(const RecordSorter& sorter);
  Result<bool> advance(Source& source);
  bool advance_newest(Source& source);
  Result<> read_on(Source& source, std::size_t wanted);
  Result<> keep(std::size_t source);

  const RecordSorter* sorter_;
  std::vector<Source> sources_;    // the last one are the records that are in memory
  std::vector<std::size_t> heap_;  // those of which `record` waits: the lowest is in front
  std::size_t next_newest_ = 0;
  std::size_t piece_bytes_ = 0;
  bool is_started_ = false;
  std::size_t current_ = 0;  // whose record was given last
};

template <typename Take>
Result<> RecordSorter::visit(const Take& take) {
  for (Reader reader = sorted();;) {
    OPDUMP_TRY(const bool has_more, reader.next());
    if (!has_more) return ok();
    OPDUMP_CHECK_OK(take(reader.record()));
  }
}

template <typename Take>
Result<> RecordSorter::visit_different(const Take& take) {
  std::optional<std::string> last;
  return visit([&](std::string_view record) -> Result<> {
    if (last == record) return ok();
    last = record;
    return take(record);
  });
}

// Appends values to a record. Texts come in order as strings do, whatever stands behind them.
class SortKey {
 public:
  explicit SortKey(std::string& record) : record_(record) {}
  SortKey& number(std::uint64_t value);
  SortKey& signed_number(std::int64_t value);
  SortKey& text(std::string_view value);

 private:
  std::string& record_;
};

// Takes values off the front of a record in the order in which they were put.
class SortKeyReader {
 public:
  explicit SortKeyReader(std::string_view record) : rest_(record) {}
  std::uint64_t number();
  std::int64_t signed_number();
  std::string text();
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace opdump
