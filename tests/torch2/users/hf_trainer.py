# needs torch 2.4
"""A small GPT-2 trained by transformers' Trainer, with gradient checkpointing."""

import tempfile

import fingerprint
import torch
import transformers

torch.manual_seed(0)
transformers.utils.logging.set_verbosity_error()
model = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=2, n_head=2, n_embd=32, vocab_size=100, n_positions=32))
data = [{"input_ids": row, "labels": row} for row in torch.randint(0, 100, (16, 16))]
with tempfile.TemporaryDirectory() as folder:
    arguments = transformers.TrainingArguments(folder, max_steps=3, per_device_train_batch_size=4, report_to=[], use_cpu=True, save_strategy="no",
                                               logging_strategy="no", gradient_checkpointing=True, disable_tqdm=True)
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=data)
    trainer.remove_callback(transformers.PrinterCallback)
    print(trainer.train().training_loss.hex())
print(fingerprint.of(model.state_dict()))
