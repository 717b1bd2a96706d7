// What the open dimensions of a model can be. On the device that is decided when the model is compiled
// (--dynamic_batch_size, ...); here the environment says so when it is loaded.
#pragma once

#include <acl/acl_base.h>

#include <cstdint>
#include <string>
#include <vector>

namespace opdump::acl {

// What a model reads or gives, in AscendCL's words.
struct Port {
  std::string name;
  aclDataType type = ACL_DT_UNDEFINED;
  bool has_shape = false;
  std::vector<std::int64_t> dims;      // -1: known only when it runs
  std::vector<std::string> dim_names;  // "batch"; "" for one without a name

  aclFormat format() const { return dims.size() == 4 ? ACL_FORMAT_NCHW : ACL_FORMAT_ND; }
  bool is_dynamic() const;
};

class Gears {
 public:
  enum class Kind : std::uint8_t { any, batch, image, dims };

  // Of a model with these inputs, which must live as long. Fails with ACL_ERROR_INVALID_PARAM for a variable
  // that is no list of numbers or does not fit the inputs.
  static aclError read(const std::vector<Port>& inputs, Gears& gears);

  Kind kind() const { return kind_; }
  // The variable, with its value.
  const std::string& origin() const { return origin_; }
  // As the variable has them, at most 128.
  const std::vector<std::vector<std::int64_t>>& texts() const { return texts_; }
  // True if the open dimensions can be these, one after the other.
  bool has(const std::vector<std::int64_t>& open_dims) const;
  // The dimensions of all inputs, one after the other.
  std::vector<std::int64_t> input_dims(std::size_t choice) const;
  // Bytes of an input or output for the largest choice. An open dimension that is not known counts as 1.
  std::size_t largest(const Port& port) const;

 private:
  aclError resolve();

  Kind kind_ = Kind::any;
  std::string origin_;
  const std::vector<Port>* inputs_ = nullptr;
  std::vector<std::vector<std::int64_t>> texts_;
  std::vector<std::vector<std::int64_t>> choices_;  // of all open dimensions, one after the other
};

}  // namespace opdump::acl
