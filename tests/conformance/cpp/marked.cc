// The same training, which marks where it is for opdump, and which scope it wants: TRAIN_FLAGGED.
#include <opdump/opdump_torch.h>

#include <cstdlib>

#include "train.h"

int main(int argc, char** argv) {
  if (const char* scope = std::getenv("TRAIN_FLAGGED")) opdump_torch_set_dump(scope, 1);
  return train(argc, argv, {opdump_torch_push, opdump_torch_pop, opdump_torch_step});
}
