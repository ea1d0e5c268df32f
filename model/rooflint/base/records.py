"""Records that are built from objects with attributes of the same names."""

from typing import Any, Self

from pydantic import BaseModel


class FromObject(BaseModel):
    """A model with a constructor that copies attributes."""

    @classmethod
    def from_object(cls, found: object, **more: Any) -> Self:
        """Fields that are not given are the attributes of the same names. Raises ValidationError."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields if name not in more}, **more)
