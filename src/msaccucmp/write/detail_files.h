// The files that `msaccucmp compare -op` writes of one tensor, and their names (cann.md 4.8).
#pragma once

#include <cstddef>
#include <string>

#include "base/file/file.h"
#include "base/result.h"

namespace opdump::msaccucmp {

class DetailFiles {
 public:
  // `op` and the rest name the tensor; the files lie in `folder`.
  DetailFiles(std::string folder, std::string op, bool is_input, std::size_t index);

  // What names begin with that are not too long.
  const std::string& prefix() const { return prefix_; }
  // The name of the dump file, which names that are too long begin with.
  void set_dump_file(const std::string& name) { dump_file_ = name; }

  // The name that a file gets. One that is too long is replaced, which is noted. Errors: io.
  Result<std::string> name_for(const std::string& suffix);

  // An empty file: one that was there is removed. Errors: io.
  Result<Fd> create(const std::string& suffix);
  Result<Fd> create_named(const std::string& name);
  Result<> write(const std::string& suffix, const std::string& text);

  // Removes what an earlier run has left of this tensor.
  void remove_old() const;

 private:
  bool is_ours(const std::string& name) const;

  std::string folder_, index_text_, prefix_, dump_file_;
};

}  // namespace opdump::msaccucmp
