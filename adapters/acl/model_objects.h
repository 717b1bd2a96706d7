// What a program has of models: descriptions, datasets, configurations for loading.
#pragma once

#include <acl/acl_mdl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base.h"
#include "model.h"

struct aclmdlDesc {
  std::shared_ptr<opdump::acl::Model> model;
};

struct aclmdlDataset {
  struct Buffer {
    aclDataBuffer* buffer;
    std::unique_ptr<aclTensorDesc> desc;  // set by the program, or of the last execution
  };
  std::vector<Buffer> buffers;
  // What the open dimensions of the inputs are, one after the other.
  std::vector<std::int64_t> open_dims;
};

struct aclmdlConfigHandle {
  std::size_t load_type = 0;
  std::optional<std::string> path;
  const void* memory = nullptr;
  std::size_t memory_size = 0;
};
