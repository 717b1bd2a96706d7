// A dumper file for load mode: finds the recorded inputs that match an operator (torch_tf_frontends.md
// D.6).
//
// Records of an operator are distinguished by their inputs: shape and dtype of tensors (int32 and int64 are
// equivalent), kind of scalars, value of everything else. These form a text, and a hash table maps the text
// to its records in the order of their numbers: a search takes constant time, whatever the size of the file.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "dumper/dumper_values.h"

namespace opdump::torch_adapter {

class LoadFile {
 public:
  // Reads the list of datasets. Null if the file cannot be read: see opdump_last_error().
  static std::unique_ptr<LoadFile> open(const std::string& path);

  // The number of the first record that fits and was not used yet, which it is now; -1 if there is none. The
  // tensors of `inputs` are overwritten with those of the record. Throws c10::Error if one cannot be.
  std::int64_t load(const std::string& name, const NamedValues& inputs);

 private:
  struct Record {
    std::int64_t id = 0;
    std::map<std::string, std::size_t> tensors;  // by name, the number of the dataset
  };
  struct Closer {
    void operator()(opdump_h5* file) const { opdump_h5_close(file); }
  };
  // The first record of `op` that fits, out of the list.
  std::optional<Record> take(const std::string& op, const NamedValues& inputs);
  void overwrite(const at::Tensor& tensor, std::size_t index);
  void add_records();

  std::unique_ptr<opdump_h5, Closer> file_;
  std::set<std::string> names_;
  std::unordered_map<std::string, std::deque<Record>> records_;
};

}  // namespace opdump::torch_adapter
