"""vLLM's attention backends: `/server_info` names one by its class, a launch by its name in an enum.

Source: `AttentionBackendEnum` in `vllm/v1/attention/backends/registry.py` of 0.29.0 and 0.32.0; by the whole
path where two have a class of one name. `make test-engines` holds the table to the installed versions.
"""

from __future__ import annotations

from typing import Final

from governance.values import Json, Unknown

NAMES: Final[dict[str, str]] = {
    "FlashAttentionBackend": "FLASH_ATTN",
    "FlashAttentionDiffKVBackend": "FLASH_ATTN_DIFFKV",
    "TritonAttentionBackend": "TRITON_ATTN",
    "TritonAttentionDiffKVBackend": "TRITON_ATTN_DIFFKV",
    "RocmAttentionBackend": "ROCM_ATTN",
    "AiterMLABackend": "ROCM_AITER_MLA",
    "AiterTritonMLABackend": "ROCM_AITER_TRITON_MLA",
    "AiterFlashAttentionBackend": "ROCM_AITER_FA",
    "ROCMAiterMLASparseBackend": "ROCM_AITER_MLA_SPARSE",
    "XPUMLASparseBackend": "XPU_MLA_SPARSE",
    "FlashInferBackend": "FLASHINFER",
    "FlashInferMLABackend": "FLASHINFER_MLA",
    "TokenspeedMLABackend": "TOKENSPEED_MLA",
    "FlashInferMLASparseTRTLLMBackend": "FLASHINFER_MLA_SPARSE",
    "FlashInferMLASparseSM120Backend": "FLASHINFER_MLA_SPARSE_SM120",
    "TritonMLABackend": "TRITON_MLA",
    "CutlassMLABackend": "CUTLASS_MLA",
    "FlashMLABackend": "FLASHMLA",
    "FlashMLASparseBackend": "FLASHMLA_SPARSE",
    "DeepseekV4ROCMAiterMLASparseBackend": "ROCM_FLASHMLA_SPARSE_DSV4",
    "FlashAttnMLABackend": "FLASH_ATTN_MLA",
    "FlashAttnMLASparseBackend": "FLASH_ATTN_MLA_SPARSE",
    "MiniMaxM3SparseBackend": "MINIMAX_M3_SPARSE",
    "MiniMaxM3SparseCutlassBackend": "CUTLASS_MSA",
    "MiniMaxM3SparseTritonBackend": "TRITON_MSA",
    "NoAttentionBackend": "NO_ATTENTION",
    "FlexAttentionBackend": "FLEX_ATTENTION",
    "HpcAttentionBackend": "HPC_ATTN",
    "RocmAiterUnifiedAttentionBackend": "ROCM_AITER_UNIFIED_ATTN",
    "CPUAttentionBackend": "CPU_ATTN",
    "CPUMLABackend": "CPU_MLA",
    "AMXMLABackend": "AMX_MLA",
    "TurboQuantAttentionBackend": "TURBOQUANT",
    "TritonFlashAttentionBackend": "TRITON_FLASH_ATTN",
    "RocmSegmentedAttentionBackend": "ROCM_SEGMENTED_ATTN",
    "TritonFlashInferBackend": "TRITON_FLASHINFER",
    "FlashInferMLASparseSM90Backend": "FLASHINFER_MLA_SPARSE_SM90",
    "FlashMLAMegaAttnBackend": "FLASHMLA_MEGA_ATTN_DSV41",
    "B12xPagedAttentionBackend": "B12X",
    "UltraQuantAttentionBackend": "ULTRAQUANT",
    "vllm.models.deepseek_v4.sparse_mla.DeepseekV4FlashMLABackend": "FLASHMLA_SPARSE_DSV4",
    "vllm.models.deepseek_v41.sparse_mla.DeepseekV4FlashMLABackend": "FLASHMLA_SPARSE_DSV41",
    "vllm.models.deepseek_v4.nvidia.flashinfer_sparse.DeepseekV4FlashInferMLASparseBackend": (
        "FLASHINFER_MLA_SPARSE_DSV4"
    ),
    "vllm.models.deepseek_v41.nvidia.flashinfer_sparse.DeepseekV4FlashInferMLASparseBackend": (
        "FLASHINFER_MLA_SPARSE_DSV41"
    ),
}


def backend(value: Json) -> Json | Unknown:
    """The name of a backend that is shown by its class; a name is itself."""
    if not isinstance(value, str) or "." not in value:
        return value
    name = NAMES.get(value) or NAMES.get(value.rpartition(".")[2])
    return name if name is not None else Unknown(f"the server shows the class `{value}` for it")
