"""Frames of pandas, for those who have it: it is no dependency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.files.errors import AnabranchError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def pandas_frame(frame: pl.DataFrame) -> pd.DataFrame:
    """Converts a frame; names of nodes become categories.

    Raises:
        AnabranchError: pandas is not installed, or pyarrow, which carries the columns over.

    """
    try:
        return frame.to_pandas()
    except ImportError:
        raise AnabranchError(
            "to_pandas: pandas or pyarrow is not installed; pip install pandas pyarrow, or use the frame of polars"
        ) from None
