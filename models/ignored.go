package models

// ignored are keys of config.json that change nothing that any family computes:
// they name the model, or concern its training, or how text is generated. What
// is neither here, nor in a family's own list, nor read is refused: a published
// model's keys are few and known when its family is written, so a new one is
// news, and the cost of ignoring it would be wrong answers without a sign.
// quantization_config is the checkpoint's to obey: it gives weights or none.
func ignored() []string {
	return []string{
		"_name_or_path", "architectures", "auto_map", "dtype", "model_type", "quantization_config", "torch_dtype", "transformers_version",
		"attention_dropout", "embd_pdrop", "hidden_dropout", "initializer_range", "resid_pdrop", "router_aux_loss_coef",
		"output_attentions", "output_hidden_states", "output_router_logits", "return_dict", "use_cache",
		"bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "unk_token_id", "tokenizer_class",
		"do_sample", "max_length", "max_new_tokens", "min_length", "repetition_penalty", "temperature", "top_p",
		"id2label", "label2id", "problem_type",
	}
}
